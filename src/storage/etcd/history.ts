// The records between two revisions of the past. A member tells a watch of the past a thousand revisions at a time, some ten
// times a second, and reads everything from there to now each time: several watches side by side, a thousand revisions
// each, are faster and cost the member less.
import { nextTurn } from "../../base/turn.ts";
import { type Deliver, StoreError } from "../store.ts";
import type { EtcdClient } from "./client.ts";
import type { Header, WatchedEvent } from "./messages.ts";
import type { RecordReader } from "./records.ts";
import { type KeyRange, WatchStream } from "./watchstream.ts";

/** Revisions of one watch; what members tell at a time. */
const partRevisions = 1000;
/** Watches at once: their events are in memory together. */
const partsMax = 8;
/** Time after which a watch of the past is asked how far it is, ms. */
const nudgeMs = 300;

/** Where history comes from. */
export interface HistorySource {
  readonly client: EtcdClient;
  readonly range: KeyRange;
  readonly records: RecordReader;
  /** Sees to it that a watch tells, in the end, how far it is. */
  readonly nudge: (stream: WatchStream) => void;
  /** Whether a watch is believed that says it. */
  readonly isProgressSound: () => boolean;
  /** Of every answer. */
  readonly header: (header: Header) => void;
  readonly isClosed: () => boolean;
}

/** Feeds the records above a revision, up to one that is committed. Rejects with CallError, StoreError, or what `take` throws. */
export async function history(source: HistorySource, after: number, upTo: number, take: Deliver): Promise<void> {
  let position = after;
  while (position < upTo) {
    const parts: Promise<WatchedEvent[]>[] = [];
    const ends: number[] = [];
    while (position < upTo && parts.length < partsMax) {
      const end = Math.min(upTo, position + partRevisions);
      parts.push(eventsOf(source, position, end));
      ends.push(end);
      position = end;
    }
    const all = await Promise.all(parts);
    for (const [index, events] of all.entries()) {
      const records = source.records.read(events, undefined);
      await take(records instanceof Promise ? await records : records, ends[index] ?? upTo);
      await nextTurn();
    }
  }
}

/** The events of one watch. */
function eventsOf(source: HistorySource, after: number, upTo: number): Promise<WatchedEvent[]> {
  return new Promise((resolve, reject) => {
    const found: WatchedEvent[] = [];
    const end = (work: () => void): void => {
      clearInterval(timer);
      stream.close();
      work();
    };
    const stream = new WatchStream(source.client, source.range, after, {
      events: (events) => {
        for (const event of events) if (event.kv.modRevision <= upTo) found.push(event);
        if ((events.at(-1)?.kv.modRevision ?? 0) >= upTo) end(() => resolve(found));
      },
      progress: (revision) => {
        if (source.isProgressSound() && revision >= upTo) end(() => resolve(found));
      },
      header: source.header,
      failed: (error) => end(() => reject(error)),
    });
    const timer = setInterval(() => {
      if (source.isClosed()) end(() => reject(new StoreError("unavailable", "The store is closed")));
      else source.nudge(stream);
    }, nudgeMs);
  });
}
