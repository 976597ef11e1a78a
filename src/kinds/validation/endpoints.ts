// Endpoints: addresses and ports of a service, and the addresses no service may have.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { EndpointAddress, EndpointPort, Endpoints } from "../../api/gen/core/v1.ts";
import {
  type Address,
  isIp,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseAddress,
  parseOctal,
} from "../address.ts";
import { isPortNumber } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import {
  checkChoice,
  checkLabel1123,
  checkQualifiedName,
  checkSubdomain,
  type Errors,
  eachItem,
  empty,
  faults,
  portProtocols,
} from "./check.ts";

/** Rules of new endpoints. */
export function validateEndpoints(object: Endpoints, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  eachItem(out, object.subsets, "subsets", (subset, path) => {
    const ports = subset.ports ?? [];
    if ((subset.addresses?.length ?? 0) + (subset.notReadyAddresses?.length ?? 0) === 0) {
      out.push(required(path, "must specify `addresses` or `notReadyAddresses`"));
    }
    eachItem(out, subset.addresses, `${path}.addresses`, (address, at) => checkAddress(out, at, address));
    eachItem(out, subset.notReadyAddresses, `${path}.notReadyAddresses`, (address, at) =>
      checkAddress(out, at, address),
    );
    eachItem(out, ports, `${path}.ports`, (port, at) => checkEndpointPort(out, at, port, ports.length > 1));
  });
  return out;
}

/** Rules of changed endpoints. */
export function validateEndpointsUpdate(object: Endpoints, _old: Endpoints, context: StrategyContext): FieldError[] {
  return validateEndpoints(object, context);
}

/**
 * An address that can be an endpoint: neither unspecified, loopback nor link-local. One with leading zeros is 0177.0.0.1
 * to some of those who dial it and 177.0.0.1 to others: it is held to the rules by both readings.
 */
export function checkNonSpecialIp(out: Errors, path: string, ip: string): void {
  const address = parseAddress(ip);
  if (address === undefined) {
    out.push(invalid(path, ip, "must be a valid IP address"));
    return;
  }
  const before = out.length;
  checkNonSpecial(out, path, ip, address);
  const octal = parseOctal(ip);
  if (octal !== undefined && out.length === before) checkNonSpecial(out, path, ip, octal);
}

function checkNonSpecial(out: Errors, path: string, ip: string, address: Address): void {
  if (isUnspecified(address)) out.push(invalid(path, ip, `may not be unspecified (${ip})`));
  if (isLoopback(address)) out.push(invalid(path, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
  if (isLinkLocalUnicast(address)) {
    out.push(invalid(path, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
  }
  if (isLinkLocalMulticast(address)) {
    out.push(invalid(path, ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"));
  }
}

function checkAddress(out: Errors, path: string, address: EndpointAddress): void {
  faults(out, `${path}.ip`, address.ip, isIp(address.ip));
  if (!empty(address.hostname)) checkLabel1123(out, `${path}.hostname`, address.hostname);
  if (address.nodeName !== undefined) checkSubdomain(out, `${path}.nodeName`, address.nodeName);
  checkNonSpecialIp(out, `${path}.ip`, address.ip);
}

function checkEndpointPort(out: Errors, path: string, port: EndpointPort, named: boolean): void {
  if (!empty(port.name)) checkLabel1123(out, `${path}.name`, port.name);
  else if (named) out.push(required(`${path}.name`));
  faults(out, `${path}.port`, port.port, isPortNumber(port.port));
  checkChoice(out, `${path}.protocol`, port.protocol, portProtocols);
  if (port.appProtocol !== undefined) checkQualifiedName(out, `${path}.appProtocol`, port.appProtocol);
}
