// Who owns which fields: the link between the write path, which has typed objects, and src/merge, which has documents
// and types. Every create, update and patch is recorded in metadata.managedFields under its field manager.
import type { ApiObject, ManagedFieldsEntry } from "../../api/object.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import type { Value } from "../../api/value.ts";
import { decode, Fault, parseText, toValue, zeroOf } from "../../codec/engine/json.ts";
import { limits } from "../../config/limits.ts";
import { convert } from "../../kinds/convert.ts";
import { resetFields } from "../../kinds/table.ts";
import type { Kind } from "../../merge/apply.ts";
import { entriesOfNew, type ManagedLimits, trackUpdate, unowned, type Writer } from "../../merge/managedfields.ts";
import { typeOfMessage } from "../../merge/schema.ts";
import { TypeFault } from "../../merge/typed.ts";
import { requestedDocument, type StoredObject, timeText } from "../commit/objectstore.ts";
import type { MergeRequest, Merging } from "../commit/writerequest.ts";
import { isDistinctWithin, ownedText, typedDifference } from "./ownedfields.ts";

/** How managedFields are read. */
export const managedLimits: ManagedLimits = {
  parse: (text) => {
    const value = parseText(text);
    return value instanceof Fault ? undefined : value;
  },
  depthMax: limits.managedFieldsDepthMax,
};

/** Bytes of a manager's name taken from a user agent (upstream: 128). */
const managerBytesMax = 128;

let lastAgent = "";
let lastManager = "";

/** The manager a request without one writes as: the user agent up to its first slash, printable characters only. */
export function managerOfAgent(agent = ""): string {
  // Most requests in a row come from programs of one name.
  if (agent !== lastAgent) {
    lastManager = printable(agent.split("/", 1)[0] ?? "");
    lastAgent = agent;
  }
  return lastManager;
}

function printable(text: string): string {
  let name = "";
  let bytes = 0;
  for (const character of text) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > managerBytesMax) break;
    name += character;
  }
  return name;
}

/** Debugging containers have no owner (upstream), also when they are applied. */
export const untracked: ReadonlySet<string> = new Set(["ephemeralcontainers"]);

/**
 * How a write is recorded in managedFields: its manager owns what it changes, by a body (`owns`) or a patch (`patched`), or
 * the write has recorded that itself.
 */
export type Tracking = "owns" | "patched" | "recorded";

/** Records in `object`, before it is admitted and prepared, what this write makes its manager own. */
export function trackManagers(
  writers: Merging,
  request: MergeRequest,
  object: ApiObject,
  current: StoredObject | undefined,
  old: ApiObject | undefined,
): void {
  const { resource, subresource, manager } = request;
  if (untracked.has(subresource)) {
    object.metadata.managedFields = old?.metadata.managedFields;
    return;
  }
  const sent = object.metadata.managedFields;
  object.metadata.managedFields = undefined;
  const { message } = resource;
  // Nothing is tracked where parts of an object cannot be told apart.
  if (!isDistinctWithin(message, object) || (old !== undefined && !isDistinctWithin(message, old))) return;
  const writer: Writer = { manager, version: resource.apiVersion, subresource, now: timeOf(writers) };
  const kind = kindOf(writers.scheme, resource, subresource);
  const entries =
    current === undefined || old === undefined
      ? trackCreate(kind, writer, resource, object, sent)
      : trackChange(kind, writer, resource, object, sent, {
          old,
          document: () => requestedDocument(resource, current, old),
        });
  if (entries !== undefined) object.metadata.managedFields = entries;
}

type Entries = ManagedFieldsEntry[] | undefined;

/** What the manager of a new object owns. */
function trackCreate(kind: Kind, writer: Writer, resource: Resource, object: ApiObject, sent: Entries): Entries {
  const { message, apiVersion } = resource;
  if (sent === undefined) {
    const fields = ownedText(message, zeroOf(message), object, { ignored: kind.ignored(apiVersion), unowned });
    if (fields !== undefined) return entriesOfNew(writer, fields);
  }
  const live = { value: () => blankOf(resource), entries: undefined, exists: false };
  return trackUpdate(kind, managedLimits, writer, live, { value: () => toValue(message, object), entries: sent });
}

/** Who owns what after a change of `old`. */
function trackChange(
  kind: Kind,
  writer: Writer,
  resource: Resource,
  object: ApiObject,
  sent: Entries,
  { old, document }: { readonly old: ApiObject; readonly document: () => Value },
): Entries {
  const { message } = resource;
  const { managedFields } = old.metadata;
  const difference = typedDifference(message, old, object);
  // Nothing is tracked where parts of an object cannot be told apart.
  if (difference instanceof TypeFault) return undefined;
  let value: Value | undefined;
  const live = { value: document, entries: managedFields, exists: true };
  const next = { value: () => (value ??= toValue(message, object)), entries: sent };
  return trackUpdate(kind, managedLimits, writer, live, next, difference);
}

/** The time of an entry. */
export function timeOf({ clock }: Merging): string {
  return timeText(clock.now());
}

const blanks = new WeakMap<Resource, Value>();

/** An object of the kind in which nothing is set: what a new object is compared with. */
export function blankOf(resource: Resource): Value {
  const known = blanks.get(resource);
  if (known !== undefined) return known;
  const blank = toValue(resource.message, zeroOf(resource.message));
  blanks.set(resource, blank);
  return blank;
}

const kinds = new WeakMap<Resource, Map<string, Kind>>();

/** What apply must know of a kind, as written through a subresource. */
export function kindOf(scheme: Scheme, resource: Resource, subresource: string): Kind {
  let bySubresource = kinds.get(resource);
  if (bySubresource === undefined) kinds.set(resource, (bySubresource = new Map()));
  let kind = bySubresource.get(subresource);
  if (kind === undefined) bySubresource.set(subresource, (kind = makeKind(scheme, resource, subresource)));
  return kind;
}

function makeKind(scheme: Scheme, resource: Resource, subresource: string): Kind {
  const { identity } = scheme;
  const ignored = resetFields(resource, subresource, identity);
  const at = (apiVersion: string): Resource | undefined => {
    // Kinds of subresources are in no list.
    if (apiVersion === resource.apiVersion) return resource;
    const slash = apiVersion.indexOf("/");
    const group = slash < 0 ? "" : apiVersion.slice(0, slash);
    const found = scheme.findKind(group, apiVersion.slice(slash + 1), resource.kind);
    return found?.stored === resource.stored ? found : undefined;
  };
  return {
    typeOf: (version) => {
      const found = at(version);
      return found === undefined ? undefined : typeOfMessage(found.message);
    },
    ignored: () => ignored,
    convert: (value, from, to) => {
      const source = at(from);
      const target = at(to);
      const { stored } = resource;
      if (source === undefined || target === undefined || stored === undefined) return undefined;
      const object = decode<ApiObject>(source.message, value ?? new Map());
      if (object instanceof Fault) return undefined;
      const kept = convert(object, source, stored, identity);
      return toValue(target.message, convert(kept, stored, target, identity));
    },
  };
}
