// The texts of --help: the main flags of every group on two screens, and everything by topic.
import type { Flag } from "./flag.ts";
import { flags, mainTopic } from "./flags.ts";
import { gateLines } from "./gates.ts";

/** No line is longer. */
const columnsMax = 100;

/** Where descriptions begin in the main help; a usage that is longer pushes its own to the right. */
const usageColumns = 47;

const head = [
  "orch: the API server of a cluster control plane",
  "",
  "Usage:  npm start -- [flags]",
  "        npm start -- --help GROUP           all flags of a group (all: of every group)",
  "        npm start -- --help gates           the feature gates",
  "        npm start -- config schema [NAME]   the JSON Schema of a configuration file, or their names",
  "        npm start -- top [--once] [--kubeconfig=FILE]   what a running server does, in a terminal",
  "        npm start -- snapshot save|status|restore FILE    the state of a store in one file",
  "        npm start -- storage check                        reads a store and checks it",
  "        npm start -- storage migrate --from=DIR|URLS --to=DIR|URLS   between a directory and etcd",
  "",
];

/** Topics of --help besides the main one: groups of flags, gates and all. */
export function helpTopics(table: readonly Flag[] = flags): string[] {
  return [...groupsOf(table).map(topicOf), "gates", "all"];
}

/** The text of a topic; undefined: there is none of this name. */
export function helpText(topic: string, table: readonly Flag[] = flags): string | undefined {
  if (topic === mainTopic) return mainHelp(table);
  if (topic === "gates") return join(gatesHelp());
  const groups = groupsOf(table).filter((group) => topic === "all" || topicOf(group) === topic.toLowerCase());
  if (groups.length === 0) return undefined;
  return join([...groups.flatMap((group) => groupHelp(group, table)), ...(topic === "all" ? gatesHelp() : [])]);
}

function mainHelp(table: readonly Flag[]): string {
  const main = table.filter(({ brief }) => brief !== undefined);
  const lines = [...head];
  for (const group of groupsOf(table)) {
    const own = table.filter((flag) => flag.group === group);
    const shown = main.filter((flag) => flag.group === group);
    const more = own.length > shown.length ? ` (${own.length - shown.length} more: --help ${topicOf(group)})` : "";
    lines.push(`${group} flags${more}:`);
    for (const flag of shown)
      lines.push(`${usageOf(flag).padEnd(usageColumns)}  ${flag.brief ?? ""}${defaultOf(flag)}`);
    lines.push("");
  }
  return join(lines);
}

function groupHelp(group: string, table: readonly Flag[]): string[] {
  const own = table.filter((flag) => flag.group === group);
  return [`${group} flags:`, "", ...own.flatMap((flag) => [usageOf(flag), ...wrapped(flag)]), ""];
}

function gatesHelp(): string[] {
  return ["Feature gates, for --feature-gates:", "", ...gateLines().map((line) => `  ${line}`), ""];
}

function groupsOf(table: readonly Flag[]): string[] {
  return [...new Set(table.map((flag) => flag.group))];
}

function topicOf(group: string): string {
  return group.toLowerCase();
}

function join(lines: readonly string[]): string {
  return lines.join("\n").trimEnd();
}

function usageOf({ name, short, type, choices }: Flag): string {
  const names = short === undefined ? `    --${name}` : `-${short}, --${name}`;
  if (type === "bool") return `  ${names}`;
  return `  ${names} ${type === "topic" ? "[TOPIC]" : (choices?.filter((choice) => choice !== "").join("|") ?? type)}`;
}

function defaultOf(flag: Flag): string {
  return flag.default === "" || flag.default === "false" ? "" : ` (default ${flag.default})`;
}

function wrapped(flag: Flag): string[] {
  const indent = "         ";
  const lines: string[] = [];
  let line = indent;
  for (const word of `${flag.help}${defaultOf(flag)}`.split(" ")) {
    if (line.length + 1 + word.length > columnsMax) {
      lines.push(line);
      line = indent;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
