// Lists stored objects without a client while a front is idle after its start. Of a first list in protobuf a half goes into
// code that is not compiled yet, and controllers ask for such lists as soon as a server is back. What is listed are bytes that
// become other bytes, whatever kind they are of: code that was made for some fits all. It goes the way of each list, to the
// same cache, since V8 throws code away with the objects that it was made for.
import type { Resource } from "../../api/scheme.ts";
import { isStatus } from "../../api/status.ts";
import { passShared } from "../../base/assert.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { protoCache } from "../answer/protocache.ts";
import { readOn } from "../exchange/longreads.ts";
import { type ReadInput, readList } from "../read/read.ts";
import { parseListOptions } from "../route/listoptions.ts";
import { everything } from "../route/selectors.ts";
import { ProtoList } from "./protolist.ts";

/** How often it is looked whether the front rests, in milliseconds; the part of that it may have been at work; how often. */
const lookMs = 500;
const restPart = 0.1;
const looksMax = 240;
/** Messages that were made for clients, after which the code is hot. */
const madeBytes = 8 * 1024 * 1024;
/** Fewer objects are listed in no time. */
const objectsMin = 1_000;
/** So many make code hot. Their bytes are bounded as well: the messages that are made of them are kept as of any list. */
const objectsMax = 5_000;
const bytesMax = 16 * 1024 * 1024;
/** The first makes messages, the others find them. */
const lists = 3;

/** What there is to be listed. */
export interface WarmUpSource {
  readonly resources: readonly Resource[];
  /** How objects of a resource are read; undefined: there are none. */
  readonly input: (resource: Resource) => ReadInput | undefined;
}

/** How a thread is looked at. */
export interface Looks {
  /** How often, in milliseconds. */
  readonly everyMs: number;
  /** Which part of the time since the last look it was at work. */
  readonly busyPart: () => number;
  /** Bytes of messages that were made for clients. */
  readonly made: () => number;
}

/**
 * Lists once, when this thread rests for the first time, unless messages were made for clients before (madeBytes) or it
 * takes too long. `failed` is told of a fault. Returns how to stop.
 */
export function warmUp(source: WarmUpSource, failed: (error: unknown) => void, at: Looks = ownLooks()): () => void {
  let looks = 0;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    clearInterval(timer);
  };
  const timer = setInterval(() => {
    looks += 1;
    if (at.made() > madeBytes || looks > looksMax) return stop();
    if (at.busyPart() > restPart) return;
    clearInterval(timer);
    listLongest(source, () => isOver).catch((error: unknown) => failed(passShared(error)));
  }, at.everyMs);
  timer.unref();
  return stop;
}

function ownLooks(): Looks {
  let seen = performance.eventLoopUtilization();
  const busyPart = (): number => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    return utilization;
  };
  return { everyMs: lookMs, busyPart, made: () => protoCache.bytes };
}

/** Lists objects of the built-in kind that has the most of them, if they are many. Resolves when that is done. */
export async function listLongest({ resources, input }: WarmUpSource, isOver: () => boolean): Promise<void> {
  let longest: ReadInput | undefined;
  for (const resource of resources) {
    const other = resource.stored === resource && resource.provided !== true ? input(resource) : undefined;
    const least = longest?.view.count ?? objectsMin - 1;
    if (other !== undefined && other.view.count > least) longest = other;
  }
  for (let n = 0; longest !== undefined && n < lists && !isOver(); n += 1) await listSome(longest, isOver);
}

async function listSome(input: ReadInput, isOver: () => boolean): Promise<void> {
  const options = parseListOptions(new Map([["limit", [String(objectsMax)]]]));
  const list = isStatus(options) ? options : await readList(input, options, everything);
  if (isStatus(list)) return;
  const hold = list.view.hold();
  const isGone = (): boolean => hold.expired || isOver();
  try {
    const chunks = new ProtoList(input, { ...list, items: first(list.view, list.items) }, undefined, hold);
    const refused = await readOn(() => !chunks.measure(), isGone);
    if (refused === undefined) await readOn(() => written(chunks), isGone);
  } finally {
    hold.release();
  }
}

/** Makes the next chunk; whether it was the last one. */
function written(chunks: ProtoList): boolean {
  chunks.next();
  return chunks.done;
}

/** As many items as `bytesMax` allows. */
function first(view: RecordSource, items: readonly Location[]): readonly Location[] {
  let bytes = 0;
  const end = items.findIndex((at) => (bytes += view.objectBytes(at)) > bytesMax);
  return end < 0 ? items : items.slice(0, end);
}
