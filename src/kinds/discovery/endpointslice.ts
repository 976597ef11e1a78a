// EndpointSlice: a part of the addresses behind a service.
import { at, duplicate, type FieldError, invalid, notSupported, required, tooMany } from "../../api/fielderror.ts";
import type { Endpoint, EndpointPort, EndpointSlice, ForZone } from "../../api/gen/discovery/v1.ts";
import type * as old from "../../api/gen/discovery/v1beta1.ts";
import type * as oldSlices from "../../api/gen/discovery/v1beta1.ts";
import type { EndpointSlice as StoredSlice } from "../../api/gen/discovery/v1beta1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { isIpv4Text, isIpv6Text } from "../address.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, firstThree, nameColumn, unset } from "../columns.ts";
import { immutableMessage, isDns1123Label, isDns1123Subdomain } from "../formats.ts";
import { countUp, differs, fieldOf, strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { checkNonSpecialIp } from "../validation/addresses.ts";
import {
  checkLabel1123,
  checkLabels,
  checkQualifiedName,
  checkSubdomain,
  type Errors,
  eachItem,
  empty,
  faults,
} from "../validation/check.ts";
import { equalStrings } from "../validation/equal.ts";

/** Behaviour of endpoint slices. */
export function endpointSliceBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  const { fromOld, toOld } = sliceConversions(identity);
  return {
    strategy: endpointSliceStrategy(resource, identity),
    columns: endpointSliceColumns(),
    metaRules: { update: [1, 0] },
    conversion: resource.version === "v1beta1" ? { toHub: fromOld, fromHub: toOld } : undefined,
  };
}

/** Endpoint slices: changes of labels count too; the current version has no room for the topology of the old one. */
function endpointSliceStrategy(resource: Resource, identity: Identity): Strategy<EndpointSlice> {
  const endpoints = fieldOf(resource, "endpoints");
  const content = ["addressType", "endpoints", "ports"].map((name) => fieldOf(resource, name));
  const hostname = identity.spell("kubernetes.io/hostname");
  const dropsTopology = resource.version === "v1";
  const { fromOld, toOld } = sliceConversions(identity);
  return strategyFor<EndpointSlice>(resource, {
    canonicalize(slice) {
      // What the old version says of nodes and zones it says twice.
      if (!dropsTopology) Object.assign(slice, toOld(fromOld(slice as never)));
    },
    prepareForCreate({ gates }, slice) {
      slice.metadata.generation = 1;
      for (const endpoint of slice.endpoints ?? []) {
        if (!gates.has("TopologyAwareHints")) endpoint.hints = undefined;
        if (dropsTopology) endpoint.deprecatedTopology = undefined;
      }
    },
    prepareForUpdate({ gates }, slice, old) {
      const changed = content.some((field) => differs(field, slice, old));
      if (changed || !equalStrings(slice.metadata.labels, old.metadata.labels)) countUp(slice, old);
      if (!gates.has("TopologyAwareHints") && !old.endpoints?.some((endpoint) => endpoint.hints !== undefined)) {
        for (const endpoint of slice.endpoints ?? []) endpoint.hints = undefined;
      }
      if (dropsTopology && differs(endpoints, slice, old)) dropTopology(slice, old, hostname);
    },
    validate: validateEndpointSlice,
    validateUpdate: validateEndpointSliceUpdate,
  });
}

/** A client that reads and writes back what the old version stored must not lose the nodes' names with the topology. */
function dropTopology(slice: EndpointSlice, old: EndpointSlice, hostname: string): void {
  const nodeOf = (endpoint: Endpoint) => endpoint.deprecatedTopology?.get(hostname);
  const known = new Set(old.endpoints?.map(nodeOf));
  for (const endpoint of slice.endpoints ?? []) {
    const node = nodeOf(endpoint);
    if (endpoint.nodeName === undefined && node && known.has(node)) endpoint.nodeName = node;
    endpoint.deprecatedTopology = undefined;
  }
}

/** Columns of endpoint slices. */
function endpointSliceColumns(): Columns<StoredSlice> {
  return {
    columns: [
      nameColumn,
      column("AddressType", "Kind of its addresses", ({ addressType }) => addressType),
      column(
        "Ports",
        "First ports of the endpoints",
        ({ ports = [] }) =>
          // A port with neither a number nor a name leaves nothing to show.
          firstThree(
            ports.map(({ port, name }) => (port === undefined ? (name ?? "*") : String(port))),
            unset,
          ) || unset,
      ),
      column("Endpoints", "First addresses of the endpoints", ({ endpoints = [] }) =>
        firstThree(
          endpoints.flatMap(({ addresses = [] }) => addresses),
          unset,
        ),
      ),
      ageColumn,
    ],
  };
}

const endpointsMax = 1000;
const addressesMax = 100;
const portsMax = 20_000;
const topologyMax = 16;
const zonesMax = 8;

type Slice = EndpointSlice | old.EndpointSlice;

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

function checkEndpoint(out: Errors, path: string, endpoint: Endpoint & old.Endpoint, type: string): void {
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

function checkZones(out: Errors, path: string, zones: readonly ForZone[]): void {
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

function checkPorts(out: Errors, ports: readonly EndpointPort[]): void {
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

/** Endpoint slices: the topology of the old version is fields (node, zone) and a remainder in the new one. */
export function sliceConversions(identity: Identity): {
  fromOld(slice: oldSlices.EndpointSlice): EndpointSlice;
  toOld(slice: EndpointSlice): oldSlices.EndpointSlice;
} {
  const hostKey = identity.spell("kubernetes.io/hostname");
  const zoneKey = identity.spell("topology.kubernetes.io/zone");
  const fromOld = ({ topology, ...same }: oldSlices.Endpoint): Endpoint => {
    const rest = new Map(topology);
    const zone = rest.get(zoneKey);
    rest.delete(zoneKey);
    if (same.nodeName !== undefined && rest.get(hostKey) === same.nodeName) rest.delete(hostKey);
    return { ...same, deprecatedTopology: rest.size > 0 ? rest : undefined, zone };
  };
  const toOld = ({ deprecatedTopology, zone, ...same }: Endpoint): oldSlices.Endpoint => {
    const topology = new Map(deprecatedTopology);
    if (zone !== undefined) topology.set(zoneKey, zone);
    if (same.nodeName !== undefined && !topology.has(hostKey)) topology.set(hostKey, same.nodeName);
    return { ...same, topology: topology.size > 0 ? topology : undefined };
  };
  return {
    fromOld: (slice) => ({ ...slice, endpoints: slice.endpoints?.map(fromOld) }),
    toOld: (slice) => ({ ...slice, endpoints: slice.endpoints?.map(toOld) }),
  };
}
