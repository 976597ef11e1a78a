// Endpoint slices, in the shapes of both versions.
import { at, duplicate, type FieldError, invalid, notSupported, required, tooMany } from "../../api/fielderror.ts";
import type * as discovery from "../../api/gen/discovery/v1.ts";
import type * as old from "../../api/gen/discovery/v1beta1.ts";
import { isIpv4Text, isIpv6Text } from "../address.ts";
import { immutableMessage, isDns1123Label, isDns1123Subdomain } from "../formats.ts";
import {
  checkLabel1123,
  checkLabels,
  checkQualifiedName,
  checkSubdomain,
  type Errors,
  eachItem,
  empty,
  faults,
} from "./check.ts";
import { checkNonSpecialIp } from "./endpoints.ts";

const endpointsMax = 1000;
const addressesMax = 100;
const portsMax = 20_000;
const topologyMax = 16;
const zonesMax = 8;

type Slice = discovery.EndpointSlice | old.EndpointSlice;

/** Rules of a new endpoint slice. */
export function validateEndpointSlice(object: Slice): FieldError[] {
  const out: Errors = [];
  const types = ["FQDN", "IPv4", "IPv6"];
  if (empty(object.addressType)) out.push(required("addressType"));
  else if (!types.includes(object.addressType)) out.push(notSupported("addressType", object.addressType, types));
  const endpoints = object.endpoints ?? [];
  if (endpoints.length > endpointsMax) out.push(tooMany("endpoints", endpoints.length, endpointsMax));
  else
    eachItem(out, endpoints, "endpoints", (endpoint, path) => checkEndpoint(out, path, endpoint, object.addressType));
  checkPorts(out, object.ports ?? []);
  return out;
}

/** Rules of a changed endpoint slice. */
export function validateEndpointSliceUpdate(object: Slice, before: Slice): FieldError[] {
  const out = validateEndpointSlice(object);
  if (object.addressType !== before.addressType) out.push(invalid("addressType", object.addressType, immutableMessage));
  return out;
}

function checkEndpoint(out: Errors, path: string, endpoint: discovery.Endpoint & old.Endpoint, type: string): void {
  const addresses = endpoint.addresses ?? [];
  if (addresses.length === 0) out.push(required(`${path}.addresses`, "must contain at least 1 address"));
  else if (addresses.length > addressesMax) out.push(tooMany(`${path}.addresses`, addresses.length, addressesMax));
  eachItem(out, addresses, `${path}.addresses`, (address, place) => checkAddress(out, place, address, type));
  if (endpoint.nodeName !== undefined) checkSubdomain(out, `${path}.nodeName`, endpoint.nodeName);
  const topology = endpoint.deprecatedTopology ?? endpoint.topology;
  if (topology !== undefined) {
    const place = `${path}.deprecatedTopology`;
    if (topology.size > topologyMax) out.push(tooMany(place, topology.size, topologyMax));
    checkLabels(out, place, topology);
  }
  if (endpoint.hostname !== undefined) checkLabel1123(out, `${path}.hostname`, endpoint.hostname);
  checkZones(out, `${path}.hints.forZones`, endpoint.hints?.forZones ?? []);
}

function checkAddress(out: Errors, path: string, address: string, type: string): void {
  if (type === "FQDN") checkDomain(out, path, address);
  else if (type === "IPv4" || type === "IPv6") {
    faults(out, path, address, type === "IPv4" ? isIpv4Text(address) : isIpv6Text(address));
    checkNonSpecialIp(out, path, address);
  }
}

/** A full name: at least two labels, with a dot at its end or without. */
function checkDomain(out: Errors, path: string, address: string): void {
  if (address === "") {
    out.push(required(path));
    return;
  }
  const name = address.endsWith(".") ? address.slice(0, -1) : address;
  const wrong = isDns1123Subdomain(name);
  if (wrong.length > 0) {
    out.push(invalid(path, name, wrong.join(",")));
    return;
  }
  const labels = name.split(".");
  if (labels.length < 2) {
    out.push(invalid(path, name, "should be a domain with at least two segments separated by dots"));
    return;
  }
  for (const label of labels) {
    const messages = isDns1123Label(label);
    if (messages.length === 0) continue;
    out.push(invalid(path, label, messages.join(",")));
    return;
  }
}

function checkZones(out: Errors, path: string, zones: readonly discovery.ForZone[]): void {
  if (zones.length > zonesMax) {
    out.push(tooMany(path, zones.length, zonesMax));
    return;
  }
  const names = new Set<string>();
  for (const [i, { name }] of zones.entries()) {
    if (names.has(name)) out.push(duplicate(`${at(path, i)}.name`, name));
    names.add(name);
    checkQualifiedName(out, `${at(path, i)}.name`, name);
  }
}

function checkPorts(out: Errors, ports: readonly discovery.EndpointPort[]): void {
  if (ports.length > portsMax) {
    out.push(tooMany("ports", ports.length, portsMax));
    return;
  }
  const names = new Set<string>();
  eachItem(out, ports, "ports", ({ name = "", protocol, appProtocol }, path) => {
    if (name !== "") checkLabel1123(out, `${path}.name`, name);
    if (names.has(name)) out.push(duplicate(`${path}.name`, name));
    names.add(name);
    const protocols = ["SCTP", "TCP", "UDP"];
    if (protocol === undefined) out.push(required(`${path}.protocol`));
    else if (!protocols.includes(protocol)) out.push(notSupported(`${path}.protocol`, protocol, protocols));
    if (appProtocol !== undefined) checkQualifiedName(out, `${path}.appProtocol`, appProtocol);
  });
}
