// One object of every kind, watched from the version it is listed at, patched, applied, updated and deleted.

import { type Answer, eventually } from "../support/server.ts";
import { firstDifference, type Listed, type Listing } from "./listing.ts";
import type { Side } from "./sides.ts";
import { asSent, type Body } from "./templates.ts";

/** These are the server's own: their objects are read and patched, and none is made of them. */
const uncopied = ["APIService", "CustomResourceDefinition"];
const applied = { "content-type": "application/apply-patch+yaml" };
const merged = { "content-type": "application/merge-patch+json" };

/** Does it to the first object of every resource; what went wrong, one line each. */
export async function tryEachKind(
  side: Side,
  { resources, objects }: Listing,
  counts: Record<string, number>,
): Promise<string[]> {
  const faults: string[] = [];
  let kinds = 0;
  for (const { path, kind, verbs } of resources) {
    const own = [...objects].filter(([key]) => key.startsWith(`${path} `)).map(([, object]) => object);
    const found = own.find(({ metadata }) => /^(one|cm-0|s-0)/.test(metadata.name)) ?? own[0];
    if (found === undefined || !["create", "update", "patch", "delete", "watch"].every((verb) => verbs.includes(verb)))
      continue;
    kinds += 1;
    faults.push(...(await tryKind(side, path, found, uncopied.includes(kind))));
  }
  counts["each kind"] = kinds;
  return faults;
}

async function tryKind(side: Side, path: string, original: Listed, isLeft: boolean): Promise<string[]> {
  const faults: string[] = [];
  const seen: [type: string, object: unknown][] = [];
  const wanted: [type: string, object: unknown][] = [];
  const collection = collectionOf(path, original);
  const at = `${collection}/${original.metadata.name}`;
  const copy = { ...asSent(original), metadata: { name: `${original.metadata.name}-copy` } };
  const copyAt = `${collection}/${copy.metadata.name}`;
  const { resourceVersion } = (await side.get(path)).metadata;
  const close = side.watch(`${path}?watch=true&resourceVersion=${resourceVersion}`, ({ type, object }) => {
    const { name } = (object as unknown as Listed).metadata;
    if ([original.metadata.name, copy.metadata.name].includes(name)) seen.push([type, object]);
  });
  const note = (type: string, verb: string, answer: Answer): void => {
    if (answer.code >= 300) faults.push(`${path} ${verb}: ${answer.code} ${answer.text.slice(0, 300)}`);
    else wanted.push([type, answer.json]);
  };
  const annotations = { annotations: { "switch.example.com/a": "1" } };
  note("MODIFIED", "patch", await side.call("PATCH", at, { metadata: annotations }, merged));
  const current = (await side.get(at)) as Body;
  current["metadata"].annotations["switch.example.com/a"] = "2";
  note("MODIFIED", "update", await side.call("PUT", at, current));
  const { apiVersion, kind } = original;
  const apply = {
    apiVersion,
    kind,
    metadata: { name: original.metadata.name, annotations: { "switch.example.com/b": "1" } },
  };
  note(
    "MODIFIED",
    "apply",
    await side.call("PATCH", `${at}?fieldManager=switch&force=true`, withSpec(apply, original), applied),
  );
  if (!isLeft) {
    note("ADDED", "create", await side.call("POST", collection, copy));
    const deleted = await side.call("DELETE", copyAt, { gracePeriodSeconds: 0 });
    if (deleted.code >= 300) faults.push(`${path} delete: ${deleted.code} ${deleted.text.slice(0, 300)}`);
  }
  await eventually(() => seen.length >= wanted.length);
  close();
  for (const [index, [type, object]] of wanted.entries()) {
    const difference = firstDifference([type, object], seen[index]);
    if (difference !== undefined) faults.push(`${path} watch: ${difference}`);
  }
  return faults;
}

function collectionOf(path: string, { metadata: { namespace } }: Listed): string {
  const at = path.lastIndexOf("/");
  return namespace === undefined ? path : `${path.slice(0, at)}/namespaces/${namespace}${path.slice(at)}`;
}

/** Kinds whose validation looks at all of an applied object get it whole; others get the annotation alone. */
function withSpec(apply: Body, original: Listed): Body {
  return original.kind === "Event" ? { ...asSent(original), ...apply } : apply;
}
