// Addresses that can be endpoints.
import { invalid } from "../../api/fielderror.ts";
import {
  type Address,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseAddress,
  parseOctal,
} from "../address.ts";
import type { Errors } from "./check.ts";

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
