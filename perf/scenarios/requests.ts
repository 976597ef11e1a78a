// Kinds of requests about pods, as scenarios send them: bodies of the corpus, with a number in the name.
import { podBody } from "../corpus/pod.ts";
import type { Work } from "../harness/work.ts";

/** How many objects requests that need some go around in. */
export const knownMax = 5000;

const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const jsonPatch = "application/json-patch+json";
const apply = "application/apply-patch+yaml";

/** What is the same for all kinds of requests of a run. */
export type Shape = Pick<Work, "connections" | "rate">;

/** A request that creates pod `<prefix><n>`. */
export function createPod(pods: string, prefix: string, shape: Shape): Work {
  const body = podBody(0, `${prefix}<n>`);
  return { ...shape, name: "create", method: "POST", path: pods, body, wanted: 201, from: 0 };
}

/** A request that creates pod `<prefix><n>` by server-side apply. */
export function applyPod(pods: string, prefix: string, shape: Shape): Work {
  const body = podBody(0, `${prefix}<n>`);
  const path = `${pods}/${prefix}<n>?fieldManager=applier`;
  return { ...shape, name: "apply-new", method: "PATCH", path, type: apply, body, wanted: 201, from: 0 };
}

/** Requests about the pods there are, by verb; `known` of them. */
export function changesOfPods(pods: string, prefix: string, known: number, shape: Shape): ReadonlyMap<string, Work> {
  const name = `${prefix}<n%${known}>`;
  const path = `${pods}/${name}`;
  const label = '{"metadata":{"labels":{"n":"<n>"}}}';
  const common = { ...shape, path, wanted: 200, from: 0 };
  const works: readonly Work[] = [
    { ...common, name: "get", method: "GET" },
    { ...common, name: "update", method: "PUT", body: podBody(0, name, { n: "<n>" }) },
    { ...common, name: "merge-patch", method: "PATCH", type: merge, body: label },
    { ...common, name: "strategic-patch", method: "PATCH", type: strategic, body: label },
    {
      ...common,
      name: "json-patch",
      method: "PATCH",
      type: jsonPatch,
      body: '[{"op":"add","path":"/metadata/labels/n","value":"<n>"}]',
    },
    {
      ...common,
      name: "status",
      method: "PATCH",
      path: `${path}/status`,
      type: merge,
      body: '{"status":{"message":"<n>"}}',
    },
    {
      ...common,
      name: "apply",
      method: "PATCH",
      path: `${path}?fieldManager=applier`,
      type: apply,
      body: podBody(0, name, { n: "<n>" }),
    },
  ];
  return new Map(works.map((work) => [work.name, work]));
}

/** A request that removes pod `<prefix><n>`. */
export function deletePod(pods: string, prefix: string, shape: Shape): Work {
  const path = `${pods}/${prefix}<n>?gracePeriodSeconds=0`;
  return { ...shape, name: "delete", method: "DELETE", path, wanted: 200, from: 0 };
}
