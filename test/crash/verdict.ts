// The end of a crash run: a last change that every watcher must see, and the offline check of everything the clients lived
// through.
import { eventually, type TestServer } from "../support/server.ts";
import { check, type Line, type Truth } from "./check.ts";
import { type Clients, collection, storePrefix } from "./clients.ts";

/** What a check found, and how much it checked. */
export interface Judgement {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly refused: number;
  readonly inDoubt: number;
  readonly events: number;
  readonly watches: number;
  readonly lists: number;
}

/** Makes a last change and waits until it has reached every watcher; its revision. */
export async function settle(server: TestServer, clients: Clients, limitMs?: number): Promise<number> {
  const last = await server.call("POST", collection, { metadata: { name: "last" }, data: { value: "last" } });
  const revision = Number(last.json.metadata.resourceVersion);
  const settled = await eventually(() => clients.behind(revision).length === 0, limitMs);
  if (!settled) clients.surprises.push(`I7: ${clients.behind(revision).join(", ")} never saw ${revision}`);
  return revision;
}

/** Checks what clients noted against the truth; `counts`: the numbers that each counter had, in order. */
export function judge(
  truth: Truth,
  lines: readonly Line[],
  counts: ReadonlyMap<string, readonly number[]> = new Map(),
): Judgement {
  const tally = { ask: 0, ack: 0, no: 0, event: 0, open: 0, list: 0 };
  for (const { t } of lines) if (t in tally) tally[t as keyof typeof tally] += 1;
  const last = { t: "ask", id: -1, op: "create", key: `${storePrefix}last`, token: "last", expected: 0 } as const;
  const violations = check(truth, [...lines, last]);
  for (const [key, numbers] of counts) {
    const wrong = numbers.findIndex((number, index) => number !== index);
    if (wrong >= 0) violations.push(`I8: ${key} went from ${numbers[wrong - 1]} to ${numbers[wrong]}`);
  }
  return {
    violations,
    acknowledged: tally.ack,
    refused: tally.no,
    inDoubt: tally.ask - tally.ack - tally.no,
    events: tally.event,
    watches: tally.open,
    lists: tally.list,
  };
}
