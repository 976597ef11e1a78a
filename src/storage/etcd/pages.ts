// The state of all keys as of a revision, page by page: in memory there are at most the values of one kind.
import { nextTurn } from "../../base/turn.ts";
import { limits } from "../../config/limits.ts";
import type { TraceSpans } from "../../observe/spans.ts";
import type { PastPage, PastRequest, Record, Take } from "../store.ts";
import type { EtcdClient } from "./client.ts";
import { type Keys, rangeCall } from "./keys.ts";
import type { KeyValue } from "./messages.ts";
import type { RecordReader } from "./records.ts";

/** Where pages come from. */
export interface PageSource {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly records: RecordReader;
}

/** What is asked, of whom, and who takes it. */
export interface StateQuestion extends PageSource {
  readonly revision: number;
  readonly take: Take;
}

/** Bytes of a page, roughly. */
const pageBytes = 4 * 1024 * 1024;
const pageKeysMax = 2000;
/** Records told at once. */
const toldMax = 500;

/** Feeds the state at a revision: kind by kind, each in the order of revisions. Rejects with CallError. */
export async function stateAt({ client, keys, revision, records, take }: StateQuestion): Promise<void> {
  if (revision === 0) return;
  let key = keys.range.key;
  let limit = 500;
  let kind: string | undefined;
  let found: KeyValue[] = [];
  for (;;) {
    const question = { key, end: keys.range.end, limit, revision };
    const { kvs, more } = await client.call(rangeCall(question, limits.etcdPageMs));
    let bytes = 1;
    for (const kv of kvs) {
      bytes += kv.value.length + kv.key.length;
      const prefix = records.prefixOf(kv);
      if (prefix !== kind) {
        await tell(found, records, take);
        found = [];
        kind = prefix;
      }
      if (prefix !== undefined) found.push(kv);
    }
    const last = kvs.at(-1);
    if (!more || last === undefined) break;
    key = Buffer.concat([last.key, Buffer.of(0)]);
    limit = Math.max(1, Math.min(pageKeysMax, Math.floor((kvs.length * pageBytes) / bytes)));
  }
  await tell(found, records, take);
}

/** Feeds a state that is there already, in the same order. */
export async function stateOf(kvs: readonly KeyValue[], records: RecordReader, take: Take): Promise<void> {
  const kinds = new Map<string, KeyValue[]>();
  for (const kv of kvs) {
    const prefix = records.prefixOf(kv);
    if (prefix === undefined) continue;
    const known = kinds.get(prefix);
    if (known === undefined) kinds.set(prefix, [kv]);
    else known.push(kv);
  }
  for (const found of kinds.values()) await tell(found, records, take);
}

/** A page of one kind's state at a revision of the past: Store.listAt(). Rejects with CallError. */
export async function pageAt(
  { client, keys, records }: PageSource,
  request: PastRequest,
  spans?: TraceSpans,
): Promise<PastPage> {
  const { revision, prefix, namespace, after, limit } = request;
  const base = namespace === "" ? `${prefix}/` : `${prefix}/${namespace}/`;
  const begin = Buffer.from(keys.stored(base));
  const key = after === "" ? begin : Buffer.concat([Buffer.from(keys.stored(`${prefix}/${after}`)), Buffer.of(0)]);
  // The byte after the slash ends the range.
  const end = Buffer.from(begin);
  end[end.length - 1] = 0x30;
  const question = rangeCall({ key, end, limit, revision }, limits.etcdPageMs);
  const { kvs, total } = await client.call(question, undefined, spans);
  const found: Record[] = [];
  for (const kv of kvs) {
    const record = records.pastOf(kv);
    const read = record instanceof Promise ? await record : record;
    if (read !== undefined) found.push(read);
  }
  return { records: found, remaining: total - kvs.length };
}

async function tell(kvs: KeyValue[], records: RecordReader, take: Take): Promise<void> {
  kvs.sort((a, b) => a.modRevision - b.modRevision);
  for (let at = 0; at < kvs.length; at += toldMax) {
    const some: Record[] = [];
    for (const kv of kvs.slice(at, at + toldMax)) {
      const record = records.stateOf(kv);
      const read = record instanceof Promise ? await record : record;
      if (read !== undefined) some.push(read);
    }
    await take(some);
    await nextTurn();
  }
}
