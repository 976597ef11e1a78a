// All scenarios: a new one is a file here and a line in this table.
import type { Scenario } from "../harness/scenario.ts";
import { crash } from "./crash.ts";
import { fanout } from "./fanout.ts";
import { growth } from "./growth.ts";
import { herd } from "./herd.ts";
import { idle } from "./idle.ts";
import { list } from "./list.ts";
import { mixed, soak } from "./mixed.ts";
import { neighbours } from "./neighbours.ts";
import { rollout } from "./rollout.ts";
import { write } from "./write.ts";

const all: readonly Scenario[] = [fanout, list, write, mixed, growth, herd, idle, crash, neighbours, rollout, soak];

/** By name. */
export const scenarios: ReadonlyMap<string, Scenario> = new Map(all.map((scenario) => [scenario.name, scenario]));
