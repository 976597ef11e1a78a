// Endpoints: the addresses behind a service. Clients read all of an object at every change, so its lists are cut to 1,000
// addresses and say so in an annotation (upstream: the endpoints controller, since v1.22). Ready addresses go before
// others, and each subset keeps its share.
import { type FieldError, required } from "../../api/fielderror.ts";
import type { EndpointAddress, EndpointPort, Endpoints } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { hostPort } from "../../base/network.ts";
import { limits } from "../../config/limits.ts";
import { isIp } from "../address.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, firstThree, nameColumn, none } from "../columns.ts";
import { isPortNumber } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { checkNonSpecialIp } from "../validation/addresses.ts";
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
} from "../validation/check.ts";

/** Behaviour of endpoints. */
export function endpointsBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: endpointsStrategy(resource, identity),
    columns: endpointsColumns(),
    metaRules: { update: [1, 1] },
  };
}

/** Endpoints: kept as they are sent (upstream packs and sorts no longer, so that controllers see what they wrote). */
function endpointsStrategy(resource: Resource, identity: Identity): Strategy<Endpoints> {
  return strategyFor<Endpoints>(resource, {
    truncate: cutEndpoints(identity),
    allowCreateOnUpdate: true,
    validate: validateEndpoints,
    validateUpdate: validateEndpointsUpdate,
  });
}

/** Columns of endpoints. */
function endpointsColumns(): Columns<Endpoints> {
  return {
    columns: [
      nameColumn,
      column("Endpoints", "First addresses that are ready", ({ subsets = [] }) => {
        const first: string[] = [];
        let count = 0;
        // Each port with each address; three of them are shown, so that no more are made.
        for (const { addresses = [], ports = [] } of subsets) {
          count += addresses.length * Math.max(1, ports.length);
          for (const { port } of ports.length === 0 ? [{ port: undefined }] : ports.slice(0, 3)) {
            for (const { ip } of addresses.slice(0, 3)) first.push(port === undefined ? ip : hostPort(ip, port));
          }
        }
        return firstThree(first, subsets.length === 0 ? none : "", count);
      }),
      ageColumn,
    ],
  };
}

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

/** What cuts endpoints, in place. The annotation of a list that was cut before, and fits, stays: whoever made it knows. */
export function cutEndpoints(identity: Identity): (endpoints: Endpoints) => void {
  const annotation = identity.spell("endpoints.kubernetes.io/over-capacity");
  return (endpoints) => {
    const ready = countOf(endpoints, "addresses");
    const max = limits.endpointsMax;
    if (ready + countOf(endpoints, "notReadyAddresses") <= max) return;
    if (ready > max) {
      cut(endpoints, "addresses", ready, max);
      for (const subset of endpoints.subsets ?? []) delete subset.notReadyAddresses;
    } else cut(endpoints, "notReadyAddresses", countOf(endpoints, "notReadyAddresses"), max - ready);
    endpoints.subsets = endpoints.subsets?.filter(
      ({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length > 0,
    );
    endpoints.metadata.annotations ??= new Map();
    endpoints.metadata.annotations.set(annotation, "truncated");
  };
}

type List = "addresses" | "notReadyAddresses";

function countOf({ subsets }: Endpoints, list: List): number {
  return (subsets ?? []).reduce((count, subset) => count + (subset[list]?.length ?? 0), 0);
}

/** Leaves `max` of `total` addresses, of each subset its share, rounded up until none are left. */
function cut({ subsets }: Endpoints, list: List, total: number, max: number): void {
  let left = max;
  for (const subset of subsets ?? []) {
    const addresses: readonly EndpointAddress[] = subset[list] ?? [];
    const share = Math.min(left, Math.ceil((addresses.length / total) * max));
    subset[list] = addresses.slice(0, share);
    left -= share;
  }
}
