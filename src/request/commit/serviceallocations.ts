// Who has which service address and node port. Every one that is given out is a stored object of its own, named after
// it and made with "must not exist": the store thread orders the creates, so two fronts never give out the same one.
// A claim is made before its service is written and released after the service let go of it; what a crash leaves
// between the two is put right by controllers/addresses.ts. Services that a server without claims wrote get theirs before
// anything is served: unclaimed.ts.
import type { Value } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { encodeSelection } from "../../cache/shared/selection.ts";
import type { LogView, Views } from "../../cache/view/view.ts";
import { Fault, parseJson } from "../../codec/engine/json.ts";
import { addressCount, rangeText, type ServiceRanges } from "../../kinds/ranges.ts";
import type { RangeFigures } from "../../observe/allocations.ts";
import { type Change, changeTypes, type Refusal } from "../../storage/store.ts";
import type { WriteServices } from "./writerequest.ts";

/** What can be claimed, and the prefix its claims are stored under. */
export const claimPrefixes = {
  address: "/registry/ranges/serviceips",
  port: "/registry/ranges/servicenodeports",
} as const;

/** One of claimPrefixes' keys. */
export type ClaimKind = keyof typeof claimPrefixes;

/** Who has something. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A claim as stored. */
export interface Claim extends Owner {
  readonly revision: number;
  /** When it was made, on the wall clock in milliseconds. */
  readonly sinceMs: number;
}

/** Tells that something is taken. */
export const taken = "taken";

/** Claims `what` for `owner`: undefined when that worked. `dryRun` looks and leaves nothing behind. */
export async function claim(
  writers: WriteServices,
  kind: ClaimKind,
  what: string,
  owner: Owner,
  dryRun: boolean,
): Promise<undefined | typeof taken | Refusal> {
  if (findClaim(writers, kind, what) !== undefined) return taken;
  if (dryRun) return undefined;
  const outcome = await writers.store.commit(claimChange(kind, what, owner, writers.clock.now()));
  if ("revision" in outcome) return undefined;
  return "refused" in outcome ? outcome : taken;
}

/** The change that claims `what` for `owner` unless it is claimed. `nowMs`: on the wall clock. */
export function claimChange(kind: ClaimKind, what: string, owner: Owner, nowMs: number): Change {
  const prefix = claimPrefixes[kind];
  const { bytes, versionAt } = claimBytes(what, owner, nowMs);
  const selection = encodeSelection("", what, undefined, []);
  const type = changeTypes.create;
  return { prefix, key: `${prefix}/${what}`, expected: 0, type, selection, body: bytes, versionAt };
}

/** Releases `what` if `owner` has it. What the store refuses is left for the repair. */
export async function release(writers: WriteServices, kind: ClaimKind, what: string, owner: Owner): Promise<void> {
  const found = findClaim(writers, kind, what);
  if (found === undefined || found.uid !== owner.uid) return;
  const prefix = claimPrefixes[kind];
  const { bytes, versionAt } = claimBytes(what, found, found.sinceMs);
  const selection = encodeSelection("", what, undefined, []);
  const expected = found.revision;
  const type = changeTypes.delete;
  await writers.store.commit({ prefix, key: `${prefix}/${what}`, expected, type, selection, body: bytes, versionAt });
}

/** The claim of an address or port; undefined: it is free. */
export function findClaim(writers: WriteServices, kind: ClaimKind, what: string): Claim | undefined {
  const view = writers.views.log(claimPrefixes[kind]);
  view.drain();
  return readClaim(view, what);
}

/** The same, of a view that is up to date. */
export function readClaim(view: LogView, what: string): Claim | undefined {
  const at = view.get("", what);
  if (at === 0) return undefined;
  const value = parseJson(view.object(at));
  assert(value instanceof Map, "A claim is an object");
  assert(!(value instanceof Fault), "A claim is JSON");
  const text = (key: string): string => String((value as ReadonlyMap<string, Value>).get(key) ?? "");
  const sinceMs = Number(text("sinceMs"));
  return { namespace: text("namespace"), name: text("name"), uid: text("uid"), sinceMs, revision: view.revisionOf(at) };
}

/**
 * What ranges hold: claims by family. One of an address outside its range, which was another at an earlier start, counts
 * until its service lets go of it.
 */
export function rangeFigures(views: Views, { addresses }: ServiceRanges): RangeFigures[] {
  const view = views.log(claimPrefixes.address);
  view.drain();
  // Where there is one range all claims are of its family, and their number is known.
  const isMixed = addresses.length > 1;
  let ofIpv6 = 0;
  if (isMixed)
    view.scan("", "", 0, (_at, key) => {
      if (key.includes(":")) ofIpv6++;
      return true;
    });
  const countOf = (family: string): number => (family === "IPv6" ? ofIpv6 : view.count - ofIpv6);
  return addresses.map((range) => {
    const allocated = isMixed ? countOf(range.family) : view.count;
    return { range: rangeText(range), allocated, available: Math.max(0, addressCount(range) - allocated) };
  });
}

const head = '{"kind":"Claim","apiVersion":"v1","metadata":{"resourceVersion":"';

function claimBytes(what: string, { namespace, name, uid }: Owner, sinceMs: number) {
  const rest = JSON.stringify({ namespace, name, uid, sinceMs: String(sinceMs) }).slice(1);
  const text = `${head}","name":${JSON.stringify(what)}},${rest}`;
  return { bytes: new TextEncoder().encode(text), versionAt: head.length };
}
