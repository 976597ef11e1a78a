// A CPU profile of the thread that calls, as Chrome's tools read it, and as a tree for a flame graph: the functions and
// those they called, each with its time.
import { type Profiler, Session } from "node:inspector/promises";

/** A function in the place it was called from, with all it called. */
export interface FlameNode {
  readonly name: string;
  /** File and line; empty: the runtime's own. */
  readonly place: string;
  /** Milliseconds in it and in what it called. */
  readonly ms: number;
  /** The longest first. */
  readonly children: readonly FlameNode[];
}

/** Nodes of a tree that are kept, and levels: the rest is too narrow, or too deep, to be seen. */
const partMin = 0.001;
const levelsMax = 60;

/** Takes a CPU profile of this thread for so long; its other work goes on. */
export async function takeProfile(seconds: number): Promise<Profiler.Profile> {
  const session = new Session();
  try {
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const { profile } = await session.post("Profiler.stop");
    return profile;
  } finally {
    session.disconnect();
  }
}

interface Branch {
  readonly name: string;
  readonly place: string;
  ms: number;
  readonly children: Map<string, Branch>;
}

/** The tree of a profile, without the time the thread was idle. */
export function flameOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): FlameNode {
  const own = new Map<number, number>();
  for (const [at, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + Math.max(0, timeDeltas[at] ?? 0) / 1000);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const root: Branch = { name: "all", place: "", ms: 0, children: new Map() };
  const [first] = nodes;
  // Each with the branch it belongs to; a stack of our own, since calls nest as deep as they like.
  const open = (first?.children ?? []).map((id) => ({ id, into: root, path: [root], level: 1 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const node = byId.get(next.id);
    if (node === undefined || node.callFrame.functionName === "(idle)") continue;
    const ms = own.get(next.id) ?? 0;
    const branch = next.level > levelsMax ? next.into : enter(next.into, node);
    const path = branch === next.into ? next.path : [...next.path, branch];
    for (const each of path) each.ms += ms;
    for (const id of node.children ?? []) open.push({ id, into: branch, path, level: next.level + 1 });
  }
  return trimmed(root, root.ms * partMin);
}

function enter(into: Branch, { callFrame }: Profiler.ProfileNode): Branch {
  const { functionName, url, lineNumber } = callFrame;
  const name = functionName === "" ? "(anonymous)" : functionName;
  const place = url === "" ? "" : `${placeOf(url)}:${lineNumber + 1}`;
  const key = `${name} ${place}`;
  const known = into.children.get(key);
  if (known !== undefined) return known;
  const branch: Branch = { name, place, ms: 0, children: new Map() };
  into.children.set(key, branch);
  return branch;
}

/** The last parts of a path: where the server is installed is not published. */
function placeOf(url: string): string {
  return url.startsWith("node:") ? url : url.split("/").slice(-2).join("/");
}

function trimmed({ name, place, ms, children }: Branch, msMin: number): FlameNode {
  const kept = [...children.values()].filter((child) => child.ms >= msMin && child.ms > 0).sort((a, b) => b.ms - a.ms);
  return { name, place, ms, children: kept.map((child) => trimmed(child, msMin)) };
}
