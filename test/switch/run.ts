// Switches between upstream's kube-apiserver and this server on one etcd, with everything compared after each switch.
// Used by scripts/switch.ts.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Etcd } from "../support/etcd/etcd.ts";
import { draws } from "../support/random.ts";
import { addressesOf, unreadKeys, wronglyStored } from "./checks.ts";
import { tryEachKind } from "./eachkind.ts";
import {
  type KnownDifference,
  knownDifferences,
  noObjects,
  sortOut,
  writtenAtStart,
  writtenByControllers,
} from "./known.ts";
import {
  compareObjects,
  compareOrder,
  compareResources,
  keyOf,
  keysOf,
  type Listed,
  type Listing,
  listAll,
} from "./listing.ts";
import { type Common, makePapers, type Side, type SideName, startOrch, startUpstream } from "./sides.ts";
import { allNamespaces, definition, templatesOf } from "./templates.ts";
import { RandomWrites, type WriteCounts } from "./writes.ts";

/** What a run is given. */
export interface SwitchOptions {
  /** Folder with the snapshot, what upstream lists of it, and the encryption configuration. */
  readonly snapshots: string;
  /** Path of upstream's kube-apiserver. */
  readonly upstream: string;
  readonly seed: number;
  /** Random writes between two switches. */
  readonly writes: number;
  /** Switches with random writes. */
  readonly switches: number;
  /** Tells on standard error which step is under way. */
  readonly verbose: boolean;
  /** Further flags of this server. */
  readonly flags: readonly string[];
}

/** What a run found. */
export interface SwitchResult {
  readonly seed: number;
  readonly seconds: number;
  /** Objects that were compared, by step. */
  readonly compared: Record<string, number>;
  readonly writes: Record<string, WriteCounts["made"]>;
  readonly refused: Record<string, number>;
  /** By reason. */
  readonly known: Record<string, number>;
  readonly differences: readonly string[];
}

/** The controllers of this server that do what upstream's server itself does. */
const ownControllers = ["--controllers=own-service"];
const quietMs = 1500;
const quietMsMax = 60_000;

/** Runs all steps. */
export async function runSwitches(options: SwitchOptions): Promise<SwitchResult> {
  const etcd = await Etcd.open();
  const dir = mkdtempSync(join(tmpdir(), "orch-switch-"));
  mkdirSync(join(dir, "orch"), { mode: 0o700 });
  const run = new Run(etcd, dir, options);
  try {
    return await run.all();
  } finally {
    await run.side?.stop();
    await etcd.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

class Run {
  /** The server that serves. */
  side: Side | undefined;
  readonly #etcd: Etcd;
  readonly #common: Common;
  readonly #options: SwitchOptions;
  readonly #writes: RandomWrites;
  readonly #compared: Record<string, number> = {};
  readonly #made: Record<string, WriteCounts["made"]> = {};
  readonly #refused: Record<string, number> = {};
  readonly #known: Record<string, number> = {};
  readonly #differences: string[] = [];

  constructor(etcd: Etcd, dir: string, options: SwitchOptions) {
    const encryption = join(dir, "encryption.yaml");
    copyFileSync(join(options.snapshots, "encryption.yaml"), encryption);
    this.#etcd = etcd;
    this.#options = options;
    this.#common = { dir, endpoints: etcd.endpoints, encryption, upstream: options.upstream };
    this.#writes = new RandomWrites(draws(options.seed));
    makePapers(this.#common);
  }

  async all(): Promise<SwitchResult> {
    const { seed, switches, writes } = this.#options;
    const start = performance.now();
    await this.#etcd.restore(join(this.#options.snapshots, "reference-1.23.etcd.db"));
    await this.#firstStart();
    await this.#switchTo("upstream", "upstream after each kind");
    await this.#prepare();
    for (let n = 1; n <= switches; n += 1) {
      const server = this.side as Side;
      const templates = templatesOf(await listAll(server));
      const counts = await this.#writes.run(server, templates, writes);
      this.#made[`${n} ${server.name}`] = counts.made;
      for (const [name, count] of Object.entries(counts.refused)) {
        this.#refused[name] = (this.#refused[name] ?? 0) + count;
      }
      // Upstream's own failures are counted with what is refused.
      if (server.name === "orch") this.#report(`writes ${n} to orch`, counts.failed);
      if (this.#options.verbose) console.error(`${n}: ${JSON.stringify(counts.made)}`);
      await this.#switchTo(server.name === "orch" ? "upstream" : "orch", `switch ${n}`);
    }
    await this.#stop();
    return {
      seed,
      seconds: Math.round((performance.now() - start) / 1000),
      compared: this.#compared,
      writes: this.#made,
      refused: this.#refused,
      known: this.#known,
      differences: this.#differences,
    };
  }

  /** Lists what upstream listed, writes nothing, and then changes objects of each kind. */
  async #firstStart(): Promise<void> {
    const first = await this.#untouched("first start", ownControllers, writtenAtStart);
    const expected = this.#readReference();
    this.#compared["snapshot"] = expected.size;
    const found = new Map([...first.objects].filter(([key]) => expected.has(key)));
    this.#report("snapshot", compareObjects(expected, found));
    // As an operator starts it: with all its controllers.
    await this.#untouched("first start with controllers", [], writtenByControllers);
    await this.#start("orch", ownControllers);
    this.#report("each kind", await tryEachKind(this.side as Side, await listAll(this.side as Side), this.#compared));
  }

  /** Starts this server, lists, ends it again, and reports what was rewritten but for what is known. */
  async #untouched(step: string, flags: readonly string[], known: readonly KnownDifference[]): Promise<Listing> {
    const before = await keysOf(this.#etcd);
    await this.#start("orch", flags);
    const listing = await this.#quiet();
    await this.#stop();
    const after = await keysOf(this.#etcd);
    const rewritten = [...before].filter(([key, { modRevision }]) => after.get(key)?.modRevision !== modRevision);
    this.#report(
      `${step}: rewritten`,
      sortOut(
        rewritten.map(([key]) => key),
        known,
        this.#known,
      ),
    );
    this.#compared[`${step}: keys`] = before.size;
    this.#compared[`${step}: keys made`] = [...after.keys()].filter((key) => !before.has(key)).length;
    return listing;
  }

  #readReference(): Map<string, Listed> {
    const text = readFileSync(join(this.#options.snapshots, "reference-1.23.objects.ndjson"), "utf8");
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { object: Listed; resource: string });
    const stored = lines.filter(({ resource }) => !resource.endsWith("/componentstatuses"));
    return new Map(stored.map(({ object, resource }) => [keyOf(resource, object), object]));
  }

  /** What random writes need: namespaces with their accounts, and a definition. */
  async #prepare(): Promise<void> {
    const side = this.side as Side;
    for (const name of allNamespaces) {
      await side.call("POST", "/api/v1/namespaces", { metadata: { name } });
      await side.call("POST", `/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } });
    }
    for (const n of [1, 2]) {
      await side.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(n));
      const path = `/apis/switch.example.com/v1/things${n}`;
      while ((await side.call("GET", path)).code !== 200) await pause(100);
    }
  }

  /** Ends the server that serves, starts the other one, and compares. */
  async #switchTo(name: SideName, step: string): Promise<void> {
    const before = await this.#quiet();
    await this.#stop();
    const stored = await keysOf(this.#etcd);
    await this.#start(name, ownControllers);
    const after = await this.#quiet();
    const now = await keysOf(this.#etcd);
    this.#compared[step] = before.objects.size;
    const lines = [...compareResources(before, after), ...compareOrder(before, after)];
    lines.push(...compareObjects(before.objects, after.objects));
    this.#report(step, sortOut(lines, knownDifferences, this.#known));
    const moved = [...new Set([...stored.keys(), ...now.keys()])].filter(
      (key) => stored.get(key)?.modRevision !== now.get(key)?.modRevision,
    );
    this.#report(`${step}: written by the start`, sortOut(moved, writtenAtStart, this.#known));
    this.#report(`${step}: not listed`, sortOut(unreadKeys(now, after), noObjects, this.#known));
    this.#report(`${step}: stored`, wronglyStored(now));
    this.#report(`${step}: addresses`, addressesOf(after));
  }

  async #start(name: SideName, more: readonly string[]): Promise<void> {
    this.side =
      name === "orch"
        ? await startOrch(this.#common, [...more, ...this.#options.flags])
        : await startUpstream(this.#common);
    if (this.#options.verbose) console.error(`${name} serves`);
  }

  async #stop(): Promise<void> {
    await this.side?.stop();
    this.side = undefined;
  }

  /** Lists everything when nothing moves any more. */
  async #quiet(): Promise<Listing> {
    const side = this.side as Side;
    let last = await listAll(side);
    for (const limit = performance.now() + quietMsMax; performance.now() < limit; ) {
      await pause(quietMs);
      const next = await listAll(side);
      if (sortOut(compareObjects(last.objects, next.objects), knownDifferences, {}).length === 0) return next;
      last = next;
    }
    throw new Error(`${side.name} does not come to rest`);
  }

  #report(step: string, lines: readonly string[]): void {
    for (const line of lines) {
      console.error(`${step}: ${line}`);
      this.#differences.push(`${step}: ${line}`);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
