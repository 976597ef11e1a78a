// Matching requests to flow schemas, and dealing their queues.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { User } from "../../src/api/user.ts";
import type { Question } from "../../src/authz/authorizer.ts";
import { Dealer } from "../../src/flowcontrol/dealer.ts";
import { builtIns } from "../../src/flowcontrol/objects.ts";
import { compileSchema, SchemaIndex } from "../../src/flowcontrol/schemas.ts";
import { leastCostOf } from "../support/cost.ts";

const dealer = new Dealer("secret");

function user(name: string, ...groups: string[]): User {
  return { name, uid: "", groups: [...groups, "system:authenticated"], extra: new Map() };
}

/** `verb group/resource[/subresource] [namespace]`, or `verb /path`; the group of core kinds is called core. */
function question(text: string, spell: (name: string) => string = (name) => name): Question {
  const [verb = "", what = "", namespace = ""] = text.split(" ");
  const none = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
  if (what.startsWith("/")) return { ...none, verb, isResource: false, path: what };
  const [group = "", resource = "", subresource = ""] = what.split("/");
  const of = { group: group === "core" ? "" : spell(group), resource, subresource, namespace: spell(namespace) };
  return { ...none, verb, isResource: true, ...of, path: "" };
}

const builtInIndex = (identity: "kubernetes" | "orch"): SchemaIndex =>
  new SchemaIndex(builtIns(identities[identity]).schemas.map(({ name, spec }) => compileSchema(name, "", spec)));

t.test("match() of the built-in schemas", (t) => {
  const node = user("system:node:n", "system:nodes");
  const account = (namespace: string): User =>
    user(`system:serviceaccount:${namespace}:a`, "system:serviceaccounts", `system:serviceaccounts:${namespace}`);
  const cases: [user: User, question: string, schema: string][] = [
    [user("admin", "system:masters"), "get core/pods x", "exempt"],
    [user("u"), "get /healthz", "probes"],
    [user("u"), "get /livez/ping", "probes"],
    [user("u"), "get /livezx", "global-default"],
    [user("u"), "post /healthz", "global-default"],
    [user("system:kube-scheduler"), "update coordination.k8s.io/leases kube-system", "system-leader-election"],
    [user("system:kube-scheduler"), "patch coordination.k8s.io/leases kube-system", "kube-scheduler"],
    [account("kube-system"), "get core/configmaps kube-system", "system-leader-election"],
    [account("kube-system"), "get core/configmaps other", "workload-leader-election"],
    [account("kube-system"), "list core/configmaps other", "kube-system-service-accounts"],
    [node, "update core/nodes/status", "system-node-high"],
    [node, "update coordination.k8s.io/leases kube-node-lease", "system-node-high"],
    [node, "list core/pods", "system-nodes"],
    [user("system:kube-controller-manager"), "list core/pods", "kube-controller-manager"],
    [account("default"), "list core/pods default", "service-accounts"],
    [user("u"), "list core/pods", "global-default"],
  ];
  for (const identity of ["kubernetes", "orch"] as const) {
    const { spell } = identities[identity];
    const index = builtInIndex(identity);
    for (const [who, asks, schema] of cases) {
      const found = index.match({ ...who, name: spell(who.name) }, question(asks, spell));
      t.equal(found?.name, spell(schema), `${identity}: ${who.name} ${asks}`);
    }
  }
  t.end();
});

t.test("match() compares scopes, subresources and paths", (t) => {
  const rule = (resources: string[], namespaces: string[], clusterScope = false, urls: string[] = []): SchemaIndex =>
    new SchemaIndex([
      compileSchema("s", "", {
        priorityLevelConfiguration: { name: "l" },
        matchingPrecedence: 1,
        rules: [
          {
            subjects: [{ kind: "ServiceAccount", serviceAccount: { namespace: "n", name: "a" } }],
            resourceRules: [{ verbs: ["get"], apiGroups: ["g"], resources, namespaces, clusterScope }],
            nonResourceRules: [{ verbs: ["*"], nonResourceURLs: urls }],
          },
        ],
      }),
    ]);
  const matches = (index: SchemaIndex, text: string, name = "system:serviceaccount:n:a"): boolean =>
    index.match(user(name), question(text)) !== undefined;
  t.ok(matches(rule(["r"], ["x"]), "get g/r x"));
  t.notOk(matches(rule(["r"], ["x"]), "get g/r x", "system:serviceaccount:n:b"));
  t.notOk(matches(rule(["r"], ["x"]), "get g/r"), "a request without a namespace needs clusterScope");
  t.notOk(matches(rule(["r"], ["*"]), "get g/r"));
  t.ok(matches(rule(["r"], [], true), "get g/r"));
  t.notOk(matches(rule(["r"], [], true), "get g/r x"));
  t.notOk(matches(rule(["r"], ["x"]), "get g/r/status x"));
  t.ok(matches(rule(["r/status"], ["x"]), "get g/r/status x"));
  t.notOk(matches(rule(["r"], ["x"]), "list g/r x"));
  t.ok(matches(rule([], [], false, ["/a/*"]), "get /a/b"));
  t.notOk(matches(rule([], [], false, ["/a/*"]), "get /a"));
  t.ok(matches(rule([], [], false, ["/a"]), "get /a/b/c"));
  t.ok(matches(rule([], [], false, ["*"]), "get /z"));
  t.end();
});

t.test("match() tries schemas by precedence, then name", (t) => {
  const schema = (name: string, precedence: number) =>
    compileSchema(name, "", {
      priorityLevelConfiguration: { name: "l" },
      matchingPrecedence: precedence,
      rules: [
        {
          subjects: [{ kind: "User", user: { name: "*" } }],
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true }],
        },
      ],
    });
  const index = new SchemaIndex([schema("b", 2), schema("c", 1), schema("a", 2)]);
  t.same(
    index.schemas.map(({ name }) => name),
    ["c", "a", "b"],
  );
  t.equal(index.match(user("u"), question("get g/r"))?.name, "c");
  t.end();
});

t.test("thousands of schemas, and of rules, cost a request what may be its own", async (t) => {
  const names = Array.from({ length: 5_000 }, (_, at) => `name-${at}`);
  const schemas = names.map((name) =>
    compileSchema(name, "", {
      priorityLevelConfiguration: { name: "l" },
      matchingPrecedence: 1_000,
      rules: [
        {
          subjects: [{ kind: "User", user: { name } }],
          nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/x"] }],
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: names.slice(0, 10), namespaces: ["*"] }],
        },
      ],
    }),
  );
  schemas.push(
    compileSchema("long", "", {
      priorityLevelConfiguration: { name: "l" },
      matchingPrecedence: 2_000,
      rules: [
        {
          subjects: [{ kind: "Group", group: { name: "system:authenticated" } }],
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: names, namespaces: names }],
          nonResourceRules: [{ verbs: ["get"], nonResourceURLs: names.map((name) => `/${name}/*`) }],
        },
      ],
    }),
  );
  const index = new SchemaIndex(schemas);
  const deep = `get /${"a/".repeat(8_000)}`;
  const asked = [question("get g/name-4999 name-4999"), question("get /name-4999/x"), question(deep)];
  const ms = await leastCostOf(3_000, () => {
    for (let at = 0; at < 10_000; at++) for (const one of asked) index.match(user("u"), one);
  });
  t.ok(ms <= 3_000, `${ms} ms for 30,000 requests`);
  t.equal(index.match(user("u"), asked[0] as Question)?.name, "long");
  t.equal(index.match(user("name-7"), question("get g/name-3 x"))?.name, "name-7");
});

t.test("deal() gives distinct queues, the same each time, all alike", (t) => {
  const [queues, handSize, flows] = [128, 6, 5_000];
  const counts = new Array<number>(queues).fill(0);
  for (let at = 0; at < flows; at++) {
    const hand = dealer.deal(`flow-${at}`, queues, handSize);
    t.equal(new Set(hand).size, handSize);
    if (at < 10) t.same(dealer.deal(`flow-${at}`, queues, handSize), hand);
    for (const queue of hand) counts[queue] = (counts[queue] ?? 0) + 1;
  }
  const mean = (flows * handSize) / queues;
  t.ok(counts.every((count) => Math.abs(count - mean) < mean / 2));
  t.same([...dealer.deal("x", 3, 3)].sort(), [0, 1, 2]);
  t.equal(dealer.deal("x", 10_000_000, 2).length, 2);
  t.end();
});
