// Scenario files: a run in a file, checked by a schema before anything is started.
import { readFileSync } from "node:fs";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";

const value = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

/** What a file holds, as JSON. */
export const scenarioFile = Type.Object(
  {
    scenario: Type.String({ description: "name of a scenario" }),
    options: Type.Optional(Type.Record(Type.String(), value, { description: "flags of the run and of the scenario" })),
    thresholds: Type.Optional(Type.Array(Type.String(), { description: "bounds, as --threshold has them" })),
    servers: Type.Optional(
      Type.Array(Type.String(), { description: "flags of one server or of two to compare", minItems: 1, maxItems: 2 }),
    ),
  },
  { additionalProperties: false },
);

/** A file that was read. */
export type ScenarioFile = Static<typeof scenarioFile>;

/** Reads a file; throws with what is wrong in it, and where. */
export function readScenarioFile(path: string): ScenarioFile {
  const parsed = parse(path);
  if (Value.Check(scenarioFile, parsed)) return parsed;
  const faults = Value.Errors(scenarioFile, parsed).map(
    ({ instancePath, message }) => `${instancePath || "/"} ${message}`,
  );
  throw new Error(`${path}: ${faults.join("; ")}`);
}

function parse(path: string): unknown {
  const text = readFileSync(path, "utf8");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : "no JSON"}`, { cause: error });
  }
}
