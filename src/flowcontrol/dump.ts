// What levels, queues and waiting requests look like: upstream's tables for people (/debug/api_priority_and_fairness/…).
// Each front tells of its own; the tables add them up.
import type { Clock } from "../base/clock.ts";
import { limits } from "../config/limits.ts";
import type { FlowControl } from "./flowcontrol.ts";
import type { Level } from "./level.ts";
import type { Ticket } from "./ticket.ts";

/** A level on one front, as threads send it. */
export interface LevelDump {
  readonly name: string;
  readonly isExempt: boolean;
  readonly isQuiescing: boolean;
  /** 0: none. */
  readonly queues: number;
  readonly waiting: number;
  readonly executing: number;
  /** Those with something to do. */
  readonly active: readonly QueueDump[];
  readonly requests: readonly RequestDump[];
}

interface QueueDump {
  readonly index: number;
  readonly waiting: number;
  readonly executing: number;
  readonly seats: number;
  /** Virtual time, in seat-seconds. */
  readonly next: number;
  readonly waitingSeats: number;
  readonly widthsMax: number;
}

interface RequestDump {
  readonly queue: number;
  readonly place: number;
  readonly cells: readonly string[];
  readonly details: readonly string[];
}

/** What this front has. */
export function dumpLevels(flow: FlowControl, clock: Clock): LevelDump[] {
  flow.update();
  let left = limits.dumpedRequestsMax;
  return [...flow.levels].map((level) => {
    const { shape, isQuiescing, waiting, executing } = level;
    const requests = shape.isExempt ? [] : dumpRequests(level, clock, left);
    left -= requests.length;
    const { name, isExempt, queues } = shape;
    return { name, isExempt, isQuiescing, queues, waiting, executing, active: dumpQueues(level), requests };
  });
}

function dumpQueues({ queues, shape }: Level): QueueDump[] {
  if (shape.queues === 0) return [];
  return [...queues.queues].slice(0, limits.dumpedQueuesMax).map((queue) => ({
    index: queue.index,
    waiting: queue.waiting.size,
    executing: queue.running,
    seats: queue.seats,
    next: queue.next / 1000,
    waitingSeats: queue.waitingSeats,
    widthsMax: queue.waitingSeats,
  }));
}

function dumpRequests(level: Level, clock: Clock, max: number): RequestDump[] {
  const found: RequestDump[] = [];
  for (const { index, waiting } of level.queues.queues) {
    let place = 0;
    for (const ticket of waiting) {
      if (found.length === max) return found;
      found.push(dumpRequest(level, ticket as Ticket, index, place++, clock));
    }
  }
  return found;
}

function dumpRequest({ shape }: Level, ticket: Ticket, queue: number, place: number, clock: Clock): RequestDump {
  const { flow, arrivedMs, width, user, asked } = ticket;
  const arrived = new Date(clock.now() - (clock.monotonic() - arrivedMs)).toISOString().replace("Z", "000000Z");
  const cells = [shape.name, flow.schema, String(queue), String(place), flow.distinguisher, arrived];
  cells.push(String(width), "0", "0s");
  const { verb, path, namespace, name, version, resource, subresource } = asked;
  const details = [user.name, verb, path, namespace, name, version, resource, subresource];
  // What clients send must not look like another row.
  const clean = (cell: string): string => cell.replace(/[^\x20-\x7e\u00a0-\uffff]/g, "?");
  return { queue, place, cells: cells.map(clean), details: details.map(clean) };
}

/** The names of the tables. */
export const dumpNames = ["dump_priority_levels", "dump_queues", "dump_requests"] as const;

/** The text of a table, of what all fronts have. */
export function dumpText(
  name: (typeof dumpNames)[number],
  fronts: readonly (readonly LevelDump[])[],
  withDetails: boolean,
): string {
  const levels = new Map<string, LevelDump[]>();
  for (const level of fronts.flat()) levels.set(level.name, [...(levels.get(level.name) ?? []), level]);
  const sorted = [...levels].sort(([a], [b]) => (a < b ? -1 : 1));
  switch (name) {
    case "dump_priority_levels":
      return table(levelColumns, sorted.map(levelRow));
    case "dump_queues":
      return table(queueColumns, sorted.flatMap(queueRows));
    case "dump_requests": {
      const columns = withDetails ? [...requestColumns, ...detailColumns] : requestColumns;
      const rows = sorted.flatMap(([, dumps]) => dumps.flatMap(({ requests }) => requests));
      return table(
        columns,
        rows.map(({ cells, details }) => (withDetails ? [...cells, ...details] : cells)),
      );
    }
  }
}

const levelColumns = [
  "PriorityLevelName",
  "ActiveQueues",
  "IsIdle",
  "IsQuiescing",
  "WaitingRequests",
  "ExecutingRequests",
];
const queueColumns = [
  "PriorityLevelName",
  "Index",
  "PendingRequests",
  "ExecutingRequests",
  "SeatsInUse",
  "NextDispatchR",
  "InitialSeatsSum",
  "MaxSeatsSum",
  "TotalWorkSum",
];
/** As upstream spells them. */
const requestColumns = [
  "PriorityLevelName",
  "FlowSchemaName",
  "QueueIndex",
  "RequestIndexInQueue",
  "FlowDistingsher",
  "ArriveTime",
  "InitialSeats",
  "FinalSeats",
  "AdditionalLatency",
];
const detailColumns = ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];
const none = "<none>";

type NamedLevel = readonly [name: string, dumps: readonly LevelDump[]];

function levelRow([name, dumps]: NamedLevel): string[] {
  if (dumps.some(({ isExempt }) => isExempt)) return [name, ...levelColumns.slice(1).map(() => none)];
  const sum = (of: (dump: LevelDump) => number): number => dumps.reduce((all, dump) => all + of(dump), 0);
  const [waiting, executing] = [sum((dump) => dump.waiting), sum((dump) => dump.executing)];
  const active = new Set(dumps.flatMap((dump) => dump.active.map(({ index }) => index))).size;
  const isQuiescing = dumps.every((dump) => dump.isQuiescing);
  return [name, active, waiting + executing === 0, isQuiescing, waiting, executing].map(String);
}

function queueRows([name, dumps]: NamedLevel): string[][] {
  if (dumps.some(({ isExempt }) => isExempt)) return [[name, ...queueColumns.slice(1).map(() => none)]];
  const queues = Math.min(limits.dumpedQueuesMax, Math.max(...dumps.map((dump) => dump.queues)));
  const byIndex = new Map<number, QueueDump[]>(Array.from({ length: queues }, (_, index) => [index, []]));
  for (const queue of dumps.flatMap(({ active }) => active)) {
    byIndex.set(queue.index, [...(byIndex.get(queue.index) ?? []), queue]);
  }
  return [...byIndex].map(([index, parts]) => {
    const sum = (of: (queue: QueueDump) => number): number => parts.reduce((all, part) => all + of(part), 0);
    const seats = sum((part) => part.waitingSeats);
    const counts = [index, sum((part) => part.waiting), sum((part) => part.executing), sum((part) => part.seats)];
    const next = virtual(parts.reduce((least, part) => Math.max(least, part.next), 0));
    return [name, ...counts.map(String), next, String(seats), String(seats), virtual(seats * 0.003)];
  });
}

/** A virtual time as upstream prints it. */
function virtual(seconds: number): string {
  return `${seconds.toFixed(8)}ss`;
}

/** Characters of a column at least, and between two of them. */
const [columnMin, gap] = [8, 1];

/** Cells with a comma behind each but the last, in columns. */
function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((title) => Math.max(columnMin, title.length + 1 + gap));
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length + 1 + gap);
  const line = (cells: readonly string[]): string =>
    cells.map((cell, at) => (at === cells.length - 1 ? cell : `${cell},`.padEnd(widths[at] ?? 0))).join("");
  return [columns, ...rows].map((cells) => `${line(cells)}\n`).join("");
}
