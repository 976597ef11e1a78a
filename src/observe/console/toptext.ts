// The console's figures as text, for `orch top`: what is wrong, then threads, clients and logs, each a table that fits
// into the columns there are.
import type { ConsoleData } from "./data.ts";
import {
  bytesText,
  distributionBetween,
  findingsOf,
  percent,
  quantileOf,
  rate,
  secondsBetween,
  threadRates,
} from "./findings.ts";

/** Rows of the tables of clients and logs. */
const rowsMax = 10;
/** Cells of a bar. */
const barColumns = 20;

/** A column: its title, whether it stands at the right, and its cells. */
interface Column {
  readonly title: string;
  readonly right?: boolean;
  readonly cells: readonly string[];
}

/** The text of two documents, lines of at most `columns` characters. */
export function topText(before: ConsoleData, now: ConsoleData, columns: number): string {
  const lines = [head(before, now), "", ...findingLines(before, now), ""];
  lines.push(...threadLines(before, now), "", ...clientLines(now), "", ...logLines(before, now));
  if (now.flow.length > 0) lines.push("", ...flowLines(now));
  return `${lines.map((line) => clip(line, columns)).join("\n")}\n`;
}

function head(before: ConsoleData, now: ConsoleData): string {
  const seconds = secondsBetween(before, now);
  const per = (value: (data: ConsoleData) => number): string => rate(Math.max(0, value(now) - value(before)) / seconds);
  const commits = distributionBetween(before.store.commit, now.store.commit);
  const commit = commits.count === 0 ? "" : `, commits ${Math.round(1000 * quantileOf(commits, 0.5))} ms`;
  return [
    `orch ${now.about.version} (${now.about.release})`,
    `up ${Math.round(now.uptimeSeconds)} s`,
    `${per(({ requests }) => requests.total)} requests/s`,
    `${per(({ requests }) => requests.byCode["429"] ?? 0)} refused/s`,
    `${per(({ store }) => store.committed)} changes/s${commit}`,
    bytesText(now.process.residentBytes),
  ].join("   ");
}

function findingLines(before: ConsoleData, now: ConsoleData): string[] {
  const signs = { bad: "!!", warn: "! ", ok: "  " };
  return findingsOf(before, now).flatMap(({ severity, text, advice }) => [
    `${signs[severity]} ${text}`,
    ...(advice === "" ? [] : [`   ${advice}`]),
  ]);
}

function threadLines(before: ConsoleData, now: ConsoleData): string[] {
  const threads = threadRates(before, now);
  const count = (value: number | undefined): string => (value === undefined ? "-" : String(value));
  return table([
    { title: "THREAD", cells: threads.map(({ name }) => name) },
    { title: "CPU", right: true, cells: threads.map(({ cpu }) => percent(cpu)) },
    { title: "", cells: threads.map(({ cpu }) => barText(cpu)) },
    { title: "LAG MS", right: true, cells: threads.map(({ lagMs }) => String(Math.round(lagMs))) },
    { title: "CONNECTIONS", right: true, cells: threads.map(({ now: { connections } }) => count(connections)) },
    { title: "WATCHES", right: true, cells: threads.map(({ now: { watchers } }) => count(watchers)) },
    { title: "WATCH BYTES/S", right: true, cells: threads.map((thread) => bytesText(thread.watchBytesPerSecond)) },
    { title: "POOL WAITS", right: true, cells: threads.map(({ now: { poolWaiting } }) => count(poolWaiting)) },
  ]);
}

function clientLines({ clients }: ConsoleData): string[] {
  const { requests, listBytes, watches } = clients;
  const seconds = Math.max(0.001, clients.seconds);
  const users = [...new Set([...listBytes, ...requests, ...watches].map(({ user }) => user))].slice(0, rowsMax);
  const of = (rows: typeof requests, name: string): number => rows.find(({ user }) => user === name)?.count ?? 0;
  return table([
    { title: "CLIENT", cells: users.map((user) => (user === "" ? "(none)" : user)) },
    { title: "REQUESTS/S", right: true, cells: users.map((user) => rate(of(requests, user) / seconds)) },
    { title: "LIST BYTES/S", right: true, cells: users.map((user) => bytesText(of(listBytes, user) / seconds)) },
    { title: "WATCHES", right: true, cells: users.map((user) => String(of(watches, user))) },
  ]);
}

function logLines(before: ConsoleData, now: ConsoleData): string[] {
  const seconds = secondsBetween(before, now);
  const former = new Map(before.logs.map((log) => [log.resource, log.writes]));
  const logs = now.logs.slice(0, rowsMax);
  const perSecond = (log: (typeof logs)[number]): number =>
    Math.max(0, log.writes - (former.get(log.resource) ?? log.writes)) / seconds;
  return table([
    { title: "LOG", cells: logs.map(({ resource }) => resource) },
    { title: "OBJECTS", right: true, cells: logs.map(({ objects }) => String(objects)) },
    { title: "WRITES/S", right: true, cells: logs.map((log) => rate(perSecond(log))) },
    { title: "MEMORY", right: true, cells: logs.map(({ bytes }) => bytesText(bytes)) },
    { title: "OLDEST S", right: true, cells: logs.map(({ oldestSeconds }) => String(Math.round(oldestSeconds))) },
    { title: "BEHIND", right: true, cells: logs.map(({ behind }) => String(behind)) },
  ]);
}

function flowLines({ flow }: ConsoleData): string[] {
  return table([
    { title: "PRIORITY LEVEL", cells: flow.map(({ level }) => level) },
    { title: "SEATS", right: true, cells: flow.map(({ seats, seatsUsed }) => `${seatsUsed}/${seats}`) },
    { title: "EXECUTING", right: true, cells: flow.map(({ executing }) => String(executing)) },
    { title: "WAITING", right: true, cells: flow.map(({ waiting }) => String(waiting)) },
    { title: "REFUSED", right: true, cells: flow.map(({ rejected }) => String(rejected)) },
  ]);
}

function table(columns: readonly Column[]): string[] {
  const widths = columns.map(({ title, cells }) => Math.max(title.length, ...cells.map((cell) => cell.length)));
  const line = (cell: (column: Column) => string): string =>
    columns
      .map((column, at) => cell(column)[column.right === true ? "padStart" : "padEnd"](widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  const rows = columns[0]?.cells.length ?? 0;
  return [line(({ title }) => title), ...Array.from({ length: rows }, (_, at) => line(({ cells }) => cells[at] ?? ""))];
}

function barText(part: number): string {
  const filled = Math.min(barColumns, Math.round(part * barColumns));
  return `[${"#".repeat(filled)}${".".repeat(barColumns - filled)}]`;
}

/** Names come from clients: what moves the terminal's cursor is not printed. */
function clip(line: string, columns: number): string {
  const safe = line.replace(/\p{Cc}/gu, "?");
  return safe.length > columns ? `${safe.slice(0, columns - 1)}~` : safe;
}
