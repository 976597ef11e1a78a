import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { Abac, parsePolicies } from "../../src/authz/abac.ts";
import type { Attributes } from "../../src/authz/authorizer.ts";
import { loadFileCheck } from "../../src/config/filecheck.ts";

const kubernetes = await loadFileCheck(identities.kubernetes.spell);
const orch = await loadFileCheck(identities.orch.spell);

const version = { apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy" };

function abac(...lines: object[]): Abac {
  const policies = parsePolicies(lines.map((line) => JSON.stringify(line)).join("\n"), "p", kubernetes);
  if (typeof policies === "string") throw new Error(policies);
  return new Abac(policies);
}

/** `who[,group…] verb resource[.group] namespace`, or `who verb /path`. */
function asked(text: string): Attributes {
  const [who = "", verb = "", what = "", namespace = ""] = text.split(" ");
  const [name = "", ...groups] = who.split(",");
  const user = { name, uid: "", groups, extra: new Map() };
  const rest = { user, verb, version: "v1", subresource: "", name: "" };
  if (what.startsWith("/")) return { ...rest, isResource: false, group: "", resource: "", namespace: "", path: what };
  const [resource = "", ...group] = what.split(".");
  return { ...rest, isResource: true, group: group.join("."), resource, namespace, path: "" };
}

t.test("authorize() follows the policies of both formats", (t) => {
  const anyUser = "x,system:authenticated";
  const cases: readonly (readonly [object, string, boolean])[] = [
    [{ ...version, spec: { user: "ann", apiGroup: "*", namespace: "*", resource: "*" } }, "ann get pods ns", true],
    [
      { ...version, spec: { user: "ann", apiGroup: "*", namespace: "*", resource: "*" } },
      "ann delete x.g.example",
      true,
    ],
    [{ ...version, spec: { user: "ann", apiGroup: "*", namespace: "*", resource: "*" } }, "ann get /healthz", false],
    [{ ...version, spec: { user: "ann", apiGroup: "*", namespace: "*", resource: "*" } }, "bob get pods ns", false],
    [{ ...version, spec: { user: "ann", resource: "pods", namespace: "ns" } }, "ann get pods ns", true],
    [{ ...version, spec: { user: "ann", resource: "pods", namespace: "ns" } }, "ann get pods other", false],
    [{ ...version, spec: { user: "ann", resource: "pods", namespace: "ns" } }, "ann get pods.g ns", false],
    [{ ...version, spec: { user: "ann", resource: "pods" } }, "ann get pods ns", false],
    [{ ...version, spec: { user: "ann", resource: "pods" } }, "ann get pods", true],
    [{ ...version, spec: { group: "devs", resource: "pods" } }, "ann,devs get pods", true],
    [{ ...version, spec: { group: "devs", resource: "pods" } }, "devs get pods", false],
    [{ ...version, spec: { user: "ann", group: "devs", resource: "pods" } }, "ann get pods", false],
    [{ ...version, spec: { user: "ann", group: "devs", resource: "pods" } }, "ann,devs get pods", true],
    [{ ...version, spec: { resource: "pods" } }, "ann,devs get pods", false],
    [{ ...version, spec: { user: "*", resource: "pods" } }, `${anyUser} get pods`, true],
    [{ ...version, spec: { user: "*", resource: "pods" } }, "system:anonymous,system:unauthenticated get pods", false],
    [{ ...version, spec: { group: "*", resource: "pods" } }, `${anyUser} get pods`, true],
    [{ ...version, spec: { user: "ann", resource: "*", readonly: true } }, "ann list pods", true],
    [{ ...version, spec: { user: "ann", resource: "*", readonly: true } }, "ann deletecollection pods", false],
    [{ ...version, spec: { user: "ann", nonResourcePath: "*" } }, "ann get /x", true],
    [{ ...version, spec: { user: "ann", nonResourcePath: "/v*" } }, "ann get /version", true],
    [{ ...version, spec: { user: "ann", nonResourcePath: "/v*" } }, "ann get /x", false],
    [{ ...version, spec: { user: "ann", nonResourcePath: "*" } }, "ann get pods", false],
    [{ ...version, spec: { user: "ann", nonResourcePath: "*", readonly: true } }, "ann post /x", false],
    [{ user: "ann" }, "ann delete pods.g ns", true],
    [{ user: "ann" }, "ann get /x", true],
    [{ user: "ann", resource: "pods" }, "ann get /x", false],
    [{ user: "ann", namespace: "ns" }, "ann get pods other", false],
    [{ readonly: true }, `${anyUser} get pods ns`, true],
    [{ readonly: true }, "x get pods ns", false],
    [{ user: "*" }, "system:anonymous,system:unauthenticated get pods", false],
  ];
  for (const [policy, question, wanted] of cases) {
    const { verdict } = abac(policy).authorize(asked(question));
    t.equal(verdict, wanted ? "allow" : "none", `${JSON.stringify(policy)}: ${question}`);
  }
  t.equal(abac().authorize(asked("ann get pods")).reason, "No policy matched.");
  t.end();
});

t.test("parsePolicies() skips comments and names the line of a mistake", (t) => {
  const good = JSON.stringify({ ...version, spec: { user: "a" } });
  const parse = (text: string): unknown => parsePolicies(text, "/p.jsonl", kubernetes);
  t.equal((parse(`# a comment\n\n  ${good}  \r\n#\n${good}\n`) as unknown[]).length, 2);
  const cases: readonly (readonly [string, RegExp])[] = [
    [`${good}\n{`, /^\/p\.jsonl, line 2: /],
    ["[]", /^\/p\.jsonl, line 1: must be an object, not an empty list$/],
    ['{"user":1}', /line 1: user: must be a string, not 1$/],
    [
      `\n\n{"apiVersion":"abac.authorization.kubernetes.io/v9","kind":"Policy"}`,
      /line 3: apiVersion: must be abac\.authorization\.kubernetes\.io\/v1beta1, not "abac\.authorization\.kubernetes\.io\/v9"$/,
    ],
    [JSON.stringify({ ...version, kind: "Rule" }), /line 1: kind: must be Policy, not "Rule"$/],
    [JSON.stringify({ ...version, spec: [] }), /spec: must be an object, not an empty list$/],
    [JSON.stringify({ ...version, spec: { readonly: "yes" } }), /spec\.readonly: must be true or false, not "yes"$/],
  ];
  for (const [text, wanted] of cases) t.match(parse(text), wanted);
  const branded = good.replace("kubernetes.io", "orch.io");
  t.type(parsePolicies(branded, "p", orch), Array);
  t.type(parsePolicies(good, "p", orch), "string");
  t.end();
});

t.test("rulesFor() lists what a user's policies say", (t) => {
  const some = abac(
    { ...version, spec: { user: "ann", apiGroup: "apps", resource: "deployments", namespace: "ns", readonly: true } },
    { ...version, spec: { user: "ann", nonResourcePath: "/v*", namespace: "*" } },
    { ...version, spec: { user: "bob", resource: "*", namespace: "*" } },
  );
  const { user } = asked("ann get x");
  t.strictSame(some.rulesFor(user, "ns").rules, [
    { verbs: ["get", "list", "watch"], apiGroups: ["apps"], resources: ["deployments"] },
    { verbs: ["*"], nonResourceURLs: ["/v*"] },
  ]);
  t.equal(some.rulesFor(user, "other").rules.length, 1);
  t.end();
});
