// Pages about all threads, made on the main thread: /metrics, and what the console shows.
import { availableParallelism } from "node:os";
import type { Config } from "../../config/config.ts";
import { type About, consoleData } from "../../observe/console/data.ts";
import { type Gathered, gatheredOf, type ProfileWish } from "../../observe/gathered.ts";
import { exposition, type Registry } from "../../observe/metrics.ts";
import { type FlameNode, flameOf, takeProfile } from "../../observe/profile.ts";
import type { Collected } from "../messages.ts";
import type { Gather } from "../threads.ts";
import { programVersion, versionDocument } from "../version.ts";

/** What the main thread asks others for. */
export interface Others {
  /** Figures of all; `detailed`: with what fronts keep for the console. */
  readonly collect: (detailed: boolean) => Promise<readonly Collected[]>;
  /** A CPU profile of one of them; undefined: there is no thread of the name. */
  readonly profile: (thread: string, seconds: number) => Promise<FlameNode | undefined> | undefined;
}

/** Makes pages of the main thread's own figures and those of all others. */
export function gathering(config: Config, registry: Registry, { collect, profile }: Others): Gather {
  const profiles = profiling(profile);
  const lifecycle = { release: config.release, hiddenFor: config.hiddenMetricsFor };
  const about = aboutOf(config);
  return async (page, gzips) => {
    if (typeof page === "object") return profiles(page, gzips);
    const told = await collect(page === "console");
    const families = [registry.snapshot(), ...told.map((one) => one.families)];
    if (page === "metrics") return gatheredOf(exposition(families, lifecycle), gzips);
    const details = told.flatMap(({ detail }) => (detail === undefined ? [] : [detail]));
    const data = consoleData(about, Date.now(), process.uptime(), { families, details });
    return gatheredOf(JSON.stringify(data), gzips);
  };
}

/** One profile at a time: each slows its thread down. */
function profiling(profile: Others["profile"]): (wish: ProfileWish, gzips: boolean) => Promise<Gathered> {
  let isBusy = false;
  return async ({ thread, seconds }, gzips) => {
    if (isBusy) return gatheredOf("a profile is being taken already", gzips, 429);
    isBusy = true;
    try {
      const tree = await (thread === "main" ? takeProfile(seconds).then(flameOf) : profile(thread, seconds));
      if (tree === undefined) return await gatheredOf("there is no such thread, or it did not answer", gzips, 404);
      return await gatheredOf(JSON.stringify(tree), gzips);
    } finally {
      isBusy = false;
    }
  };
}

function aboutOf({ identity, frontWorkers, storageBackend }: Config): About {
  const { gitVersion } = JSON.parse(versionDocument()) as { readonly gitVersion: string };
  const cores = availableParallelism();
  const version = programVersion();
  return {
    version,
    release: gitVersion,
    identity,
    node: process.version,
    cores,
    frontWorkers,
    storage: storageBackend,
  };
}
