import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { assert } from "../../src/base/assert.ts";
import { zeroOf } from "../../src/codec/engine/json.ts";
import { behaviourOf, evaluatorOf, kindTable, resetFields, strategyOf } from "../../src/kinds/table.ts";
import { contextOf } from "../support/context.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });

interface Fact {
  readonly resource: string;
  readonly group: string;
  readonly nameFormat: string;
  readonly allowCreateOnUpdate: boolean;
  readonly allowUnconditionalUpdate: boolean;
  readonly generation: string;
  readonly garbageCollection?: string;
  readonly fieldSelectors: readonly string[];
}

const path = "../shared/facts/strategies.json";
const facts = existsSync(path)
  ? (JSON.parse(readFileSync(path, "utf8")) as { resources: Fact[]; returnsDeletedObject: string[] })
  : undefined;

/** The stored or only version of every resource of the facts; custom resources have their own path. */
function* factual(): Generator<[Fact, Resource]> {
  for (const fact of facts?.resources ?? []) {
    const resource = scheme.resources.find((r) => r.group === fact.group && r.resource === fact.resource);
    if (fact.group === "*") continue;
    assert(resource !== undefined, `${fact.resource}.${fact.group} is served`);
    yield [fact, resource];
  }
}

/** An object of a resource with nothing in it but a name. */
function blank(resource: Resource): ApiObject {
  const object = zeroOf<ApiObject>(resource.message);
  object.metadata.name = "a";
  return object;
}

t.test("strategyOf() says of every resource what the facts say", (t) => {
  for (const [fact, resource] of factual()) {
    const strategy = strategyOf(resource, identity);
    const name = `${resource.resource}.${resource.group}`;
    t.equal(strategy.allowCreateOnUpdate, fact.allowCreateOnUpdate, `${name} allowCreateOnUpdate`);
    t.equal(strategy.allowUnconditionalUpdate, fact.allowUnconditionalUpdate, `${name} allowUnconditionalUpdate`);
    t.equal(
      strategy.returnsDeletedObject,
      facts?.returnsDeletedObject.includes(resource.resource),
      `${name} returnsDeletedObject`,
    );
    const format = /^(dns1123-subdomain|dns1123-label|dns1035-label)/.exec(fact.nameFormat)?.[1] ?? "path-segment";
    if (!fact.nameFormat.startsWith("must equal") && !fact.nameFormat.startsWith("<")) {
      t.equal(strategy.nameFormat, format, `${name} nameFormat`);
    }
  }
  t.end();
});

t.test("strategyOf() accepts the field labels of the facts and no others", (t) => {
  for (const [fact, resource] of factual()) {
    const strategy = strategyOf(resource, identity);
    const expected = fact.fieldSelectors.map((label) => label.split(" ")[0]).filter((l) => !l?.startsWith("metadata."));
    t.strictSame([...(strategy.fieldLabels?.keys() ?? [])].sort(), expected.sort(), resource.resource);
    const stored = strategyOf(resource.stored ?? resource, identity);
    const fields = new Set(stored.selectableFields?.(blank(resource.stored ?? resource)).map(([label]) => label));
    for (const label of strategy.fieldLabels?.values() ?? []) t.ok(fields.has(label), `${resource.resource} ${label}`);
  }
  t.end();
});

t.test("A create starts the generation where the facts say so", (t) => {
  for (const [fact, resource] of factual()) {
    const object = blank(resource);
    strategyOf(resource, identity).prepareForCreate(contextOf(resource), object);
    const expected = fact.generation.startsWith("create 1") ? 1 : undefined;
    t.equal(object.metadata.generation, expected, `${resource.resource}: ${fact.generation}`);
  }
  t.end();
});

t.test("An update counts changes of the spec and keeps the status", (t) => {
  for (const resource of scheme.resources) {
    if (resource.virtual || resource.computed) continue;
    const { update, status } = strategyOf(resource, identity);
    const old = blank(resource);
    old.metadata.generation = 3;
    const object = blank(resource);
    object.metadata.generation = 3;
    update.prepare(contextOf(resource), object, old);
    t.equal(object.metadata.generation, 3, `${resource.apiVersion} ${resource.resource} is unchanged`);
    if (resource.message.byJson.has("status")) {
      t.strictSame(
        (object as { status?: unknown }).status,
        (old as { status?: unknown }).status,
        `${resource.kind} status`,
      );
    }
    t.equal(
      status !== undefined,
      resource.subresources.some((s) => s.name === "status"),
      `${resource.kind} status subresource`,
    );
  }
  t.end();
});

t.test("strategyOf() makes one strategy per resource, in both identities", (t) => {
  const orch = createScheme({ identity: identities.orch });
  for (const resource of orch.resources) {
    const strategy = strategyOf(resource, identities.orch);
    t.equal(strategyOf(resource, identities.orch), strategy);
  }
  const roles = orch.find("rbac.authorization.orch.io", "v1", "roles");
  assert(roles !== undefined, "Roles are served");
  t.equal(strategyOf(roles, identities.orch).nameFormat, "path-segment");
  t.end();
});

t.test("each line of the table is of a kind that is there, and of the kind it names", (t) => {
  for (const name of ["orch", "kubernetes"] as const) {
    const all = createScheme({ identity: identities[name], runtimeConfig: new Map([["api/all", true]]) });
    for (const [group, plural, make] of kindTable) {
      const spelled = identities[name].spell(group);
      const found = all.resources.find((r) => r.resource === plural && r.group === spelled);
      t.equal(make.name.toLowerCase(), `${found?.kind.toLowerCase() ?? "none"}behaviour`, `${plural} of ${spelled}`);
    }
  }
  const names = new Set(kindTable.map(([group, plural]) => `${plural}.${group}`));
  t.equal(names.size, kindTable.length, "one line for each");
  t.end();
});

t.test("behaviour goes by group and resource, not by the plural alone", (t) => {
  const pods = scheme.find("", "v1", "pods");
  const deployments = scheme.find("apps", "v1", "deployments");
  assert(pods !== undefined && deployments !== undefined, "Both are served");
  const other = behaviourOf({ ...deployments, group: "example.org" }, identity);
  t.equal(other.scale, undefined);
  t.not(resetFields(pods, "status", identity), other.resetFields.get("status"));
  t.strictSame(
    resetFields({ ...pods, group: "example.org" }, "status", identity),
    other.resetFields.get("status"),
    "what is written back is the common rule's",
  );
  t.end();
});

t.test("what has a scale subresource can be scaled, and nothing else", (t) => {
  for (const resource of scheme.resources) {
    const has = resource.subresources.some(({ name }) => name === "scale");
    t.equal(behaviourOf(resource, identity).scale !== undefined, has, `${resource.apiVersion} ${resource.resource}`);
  }
  t.end();
});

/** Kinds no quota counts upstream. */
const uncounted = [
  "bindings.",
  "componentstatuses.",
  "events.",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "tokenreviews.authentication.k8s.io",
];

t.test("evaluatorOf() leaves out what upstream leaves out, and counts all else", (t) => {
  const left = scheme.resources.filter((resource) => evaluatorOf(resource, identity) === undefined);
  t.strictSame([...new Set(left.map(({ resource, group }) => `${resource}.${group}`))].sort(), uncounted);
  const secrets = scheme.find("", "v1", "secrets");
  const roles = scheme.find("rbac.authorization.k8s.io", "v1", "roles");
  assert(secrets !== undefined && roles !== undefined, "Both are served");
  const names = ["secrets", "count/secrets", "roles", "count/roles.rbac.authorization.k8s.io"];
  t.strictSame(evaluatorOf(secrets, identity)?.matching(names), ["secrets", "count/secrets"]);
  t.strictSame(evaluatorOf(roles, identity)?.matching(names), ["count/roles.rbac.authorization.k8s.io"]);
  t.end();
});
