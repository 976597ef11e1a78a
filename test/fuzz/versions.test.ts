// Every served version of every kind: a well-formed object goes to the version that is stored and comes back as it was.
// `ORCH_FUZZ_SEED` and `ORCH_FUZZ_ROUNDS` repeat and lengthen a run.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { encode } from "../../src/codec/engine/json.ts";
import { convert } from "../../src/kinds/convert.ts";
import { ObjectSource, objectFrom } from "../support/objects.ts";
import { draws, fuzzRun } from "../support/random.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
/** Objects per kind and version. */
const { seed, rounds } = fuzzRun(1000);
const draw = draws(seed);
const objects = new ObjectSource(draw);

const selector = '"selector":{"matchLabels":{"a":"b"}}';
const value = ['"type":"Value","value":"100m"', '"value":"100m"'] as const;
const average = ['"type":"AverageValue","averageValue":"2k"', '"averageValue":"2k"'] as const;
const share = ['"type":"Utilization","averageUtilization":70', '"averageUtilization":70'] as const;
const metrics: readonly (readonly [source: string, head: string, amount: readonly [target: string, now: string]])[] = [
  ["Object", `"object":{"describedObject":{"kind":"K","name":"n"},"metric":{"name":"m",${selector}}`, value],
  ["Object", '"object":{"describedObject":{"kind":"K","name":"n"},"metric":{"name":"m"}', average],
  ["Pods", `"pods":{"metric":{"name":"m",${selector}}`, average],
  ["Resource", '"resource":{"name":"memory"', share],
  ["Resource", '"resource":{"name":"cpu"', average],
  ["ContainerResource", '"containerResource":{"name":"cpu","container":"c"', share],
  ["External", '"external":{"metric":{"name":"m"}', value],
  ["External", `"external":{"metric":{"name":"m",${selector}}`, average],
  // What v1 has fields for comes last when it is read.
  ["Resource", '"resource":{"name":"cpu"', share],
];

/** Metrics that are valid: of others v1, which is stored, keeps as much as upstream does. */
function withValidMetrics(resource: Resource, object: ApiObject): void {
  const { spec: scaler } = object as ApiObject & { spec: { behavior?: { scaleUp?: object; scaleDown?: object } } };
  // Defaults fill it: upstream keeps no empty one either.
  if (!scaler.behavior?.scaleUp && !scaler.behavior?.scaleDown) delete scaler.behavior;
  const drawn = metrics.filter(() => draw.chance(40));
  if (drawn.length === 0) drawn.push(draw.pick(metrics));
  const targets = drawn.map(([type, head, [target]]) => `{"type":"${type}",${head},"target":{${target}}}}`);
  const now = drawn.map(([type, head, [, current]]) => `{"type":"${type}",${head},"current":{${current}}}}`);
  const text = `{"spec":{"metrics":[${targets.join(",")}]},"status":{"currentMetrics":[${now.join(",")}]}}`;
  const { spec, status } = objectFrom<{ spec: object; status: object }>(resource.message, text);
  withMetrics(object, spec, status);
}

/** An autoscaler, as far as its metrics go. */
type Scaler = ApiObject & { spec: { metrics?: readonly object[] } };

/** At least one metric: without any an autoscaler comes back with the share of CPU that is the default. */
function withSomeMetric(resource: Resource, object: ApiObject): void {
  const { spec } = object as Scaler;
  if ((spec.metrics ?? []).length > 0) return;
  const { metrics = [] } = objectFrom<Scaler>(resource.message, '{"spec":{"metrics":[{"type":"Pods"}]}}').spec;
  spec.metrics = metrics;
}

function withMetrics(object: ApiObject, spec: { metrics?: unknown }, status: { currentMetrics?: unknown }): void {
  const scaler = object as ApiObject & { spec: { metrics?: unknown }; status: { currentMetrics?: unknown } };
  delete scaler.spec.metrics;
  delete scaler.status.currentMetrics;
  if (spec.metrics !== undefined) scaler.spec.metrics = spec.metrics;
  if (status.currentMetrics !== undefined) scaler.status.currentMetrics = status.currentMetrics;
}

/** What is wrong with the way of one object to its stored version and back; undefined: nothing. */
function fault(resource: Resource, stored: Resource): string | undefined {
  const { kind, apiVersion, message } = resource;
  const object = Object.assign(objectFrom<ApiObject>(message, objects.json(message)), { kind, apiVersion });
  if (apiVersion === "autoscaling/v2beta1") withSomeMetric(resource, object);
  else if (kind === "HorizontalPodAutoscaler") withValidMetrics(resource, object);
  const text = encode(message, object);
  const there = convert(object, resource, stored, identity);
  const kept = encode(stored.message, there);
  // What is stored is bytes.
  const read = objectFrom<ApiObject>(stored.message, kept);
  const back = encode(message, convert(read, stored, resource, identity));
  return back === text ? undefined : `${text}\nis stored as ${kept}\nand comes back as ${back}`;
}

for (const resource of scheme.resources) {
  const { stored, apiVersion, kind } = resource;
  if (stored === undefined || stored === resource) continue;
  t.test(`${apiVersion} ${kind} is stored as ${stored.apiVersion} without loss (seed ${seed})`, (t) => {
    const wrong: string[] = [];
    for (let round = 0; round < rounds && wrong.length === 0; round += 1) {
      const found = fault(resource, stored);
      if (found !== undefined) wrong.push(found);
    }
    t.same(wrong, []);
    t.end();
  });
}
