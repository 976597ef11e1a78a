// Policies: which rule matches a request, and what is wrong with a file that is none.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { User } from "../../src/api/user.ts";
import type { Asked } from "../../src/audit/event.ts";
import { Policy, parsePolicy } from "../../src/audit/policy.ts";
import { loadFileCheck } from "../../src/config/filecheck.ts";

const kubernetes = await loadFileCheck(identities.kubernetes.spell);
const orch = await loadFileCheck(identities.orch.spell);

function read(rules: string, more = ""): Policy {
  const text = `apiVersion: audit.k8s.io/v1\nkind: Policy\n${more}\nrules:\n${rules}`;
  const policy = parsePolicy(Buffer.from(text), kubernetes);
  if (typeof policy === "string") throw new Error(policy);
  return policy;
}

function user(name: string, ...groups: string[]): User {
  return { name, uid: "", groups, extra: new Map() };
}

const ann = user("ann", "staff");

/** What is asked, and by whom. */
type Request = Asked & { readonly user: User | undefined };

function asked(verb: string, what: Partial<Asked>): Request {
  const none = { group: "", version: "v1", resource: "", subresource: "", namespace: "", name: "", path: "" };
  return { user: ann, verb, isResource: true, ...none, ...what };
}

const pods = { resource: "pods", namespace: "default", name: "p" };
const page = (path: string): Partial<Asked> => ({ isResource: false, path });

t.test("coverage() takes the first rule that matches in every field", (t) => {
  const cases: [rule: string, asked: Request, matches: boolean][] = [
    ["{level: Metadata}", asked("get", pods), true],
    ["{level: Metadata}", asked("get", page("/version")), true],
    ["{level: Metadata, users: [ann]}", asked("get", pods), true],
    ["{level: Metadata, users: [bob]}", asked("get", pods), false],
    ["{level: Metadata, users: [ann]}", { ...asked("get", pods), user: undefined }, false],
    ["{level: Metadata, userGroups: [other, staff]}", asked("get", pods), true],
    ["{level: Metadata, userGroups: [other]}", asked("get", pods), false],
    ["{level: Metadata, userGroups: [staff]}", { ...asked("get", pods), user: undefined }, false],
    ["{level: Metadata, verbs: [list, get]}", asked("get", pods), true],
    ["{level: Metadata, verbs: [list]}", asked("get", pods), false],
    ["{level: Metadata, namespaces: [default]}", asked("get", pods), true],
    ["{level: Metadata, namespaces: [other]}", asked("get", pods), false],
    ['{level: Metadata, namespaces: [""]}', asked("get", { resource: "nodes" }), true],
    ['{level: Metadata, namespaces: [""]}', asked("get", page("/version")), false],
    ['{level: Metadata, resources: [{group: ""}]}', asked("get", pods), true],
    ["{level: Metadata, resources: [{group: apps}]}", asked("get", pods), false],
    ["{level: Metadata, resources: [{group: apps}]}", asked("get", { group: "apps", resource: "deployments" }), true],
    ["{level: Metadata, resources: [{resources: [pods]}]}", asked("get", pods), true],
    ["{level: Metadata, resources: [{resources: [pods]}]}", asked("get", { ...pods, subresource: "log" }), false],
    ["{level: Metadata, resources: [{resources: [pods/log]}]}", asked("get", { ...pods, subresource: "log" }), true],
    ["{level: Metadata, resources: [{resources: [pods/*]}]}", asked("get", { ...pods, subresource: "log" }), true],
    ["{level: Metadata, resources: [{resources: [pods/*]}]}", asked("get", pods), true],
    ['{level: Metadata, resources: [{resources: ["*/log"]}]}', asked("get", { ...pods, subresource: "log" }), true],
    ['{level: Metadata, resources: [{resources: ["*/log"]}]}', asked("get", pods), false],
    ['{level: Metadata, resources: [{resources: ["*"]}]}', asked("get", { ...pods, subresource: "log" }), true],
    ["{level: Metadata, resources: [{resources: [pods], resourceNames: [p]}]}", asked("get", pods), true],
    ["{level: Metadata, resources: [{resources: [pods], resourceNames: [q]}]}", asked("get", pods), false],
    ["{level: Metadata, nonResourceURLs: [/healthz*]}", asked("get", page("/healthz/ping")), true],
    ["{level: Metadata, nonResourceURLs: [/healthz]}", asked("get", page("/healthz/ping")), false],
    ['{level: Metadata, nonResourceURLs: ["*"]}', asked("get", page("/anything")), true],
    ['{level: Metadata, nonResourceURLs: ["*"]}', asked("get", pods), false],
  ];
  for (const [rule, request, matches] of cases) {
    const what = `${rule} ${request.verb} ${request.resource}/${request.subresource}${request.path}`;
    t.equal(read(`- ${rule}`).coverage(request, request.user) !== undefined, matches, what);
  }
  const policy = read("- {level: None, verbs: [watch]}\n- {level: Request, users: [ann]}\n- {level: Metadata}");
  t.equal(policy.coverage(asked("watch", pods), ann), undefined, "None ends the search");
  t.equal(policy.coverage(asked("get", pods), ann)?.level, "Request");
  t.equal(policy.coverage(asked("get", pods), undefined)?.level, "Metadata");
  t.end();
});

t.test("coverage() joins what policy and rule leave out", (t) => {
  const rules = [
    "- {level: Metadata, users: [ann], omitStages: [Panic]}",
    "- {level: Request, users: [bob], omitManagedFields: false}",
  ].join("\n");
  const policy = read(rules, "omitStages: [RequestReceived]\nomitManagedFields: true");
  const own = policy.coverage(asked("get", pods), ann);
  t.same([...(own?.omitStages ?? [])], ["RequestReceived", "Panic"]);
  t.equal(own?.omitManagedFields, true, "the policy's word where the rule has none");
  const bob = policy.coverage(asked("get", pods), user("bob"));
  t.same([...(bob?.omitStages ?? [])], ["RequestReceived"]);
  t.equal(bob?.omitManagedFields, false, "the rule's word before the policy's");
  t.end();
});

t.test("parsePolicy() says in one line what is wrong", (t) => {
  const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";
  const cases: [text: string, fault: RegExp][] = [
    ["", /^must be an object, not null$/],
    ["a: [", /yaml/],
    ["kind: Policy", /^apiVersion: is missing; it must be audit\.k8s\.io\/v1$/],
    [
      "apiVersion: audit.k8s.io/v2\nkind: Policy\nrules: [{level: None}]",
      /^apiVersion: must be audit\.k8s\.io\/v1, not "audit\.k8s\.io\/v2"$/,
    ],
    [head, /^rules: is missing; it must be a list that is not empty$/],
    [`${head}rules: []`, /^rules: must be a list that is not empty, not an empty list$/],
    [`${head}rules: {}`, /^rules: must be a list that is not empty, not an object$/],
    [`${head}rules: [1]`, /^rules\[0\]: must be an object, not a number$/],
    [
      `${head}rules: [{}]`,
      /^rules\[0\]\.level: is missing; it must be one of None, Metadata, Request, RequestResponse$/,
    ],
    [
      `${head}rules: [{level: All}]`,
      /^rules\[0\]\.level: must be one of None, Metadata, Request, RequestResponse, not "All"$/,
    ],
    [`${head}rules: [{level: None, user: [a]}]`, /^rules\[0\]\.user: there is no such field; there are level, users, /],
    [`${head}rules: [{level: None, users: [1]}]`, /^rules\[0\]\.users\[0\]: must be a string, not 1$/],
    [
      `${head}rules: [{level: None, omitStages: [End]}]`,
      /^rules\[0\]\.omitStages\[0\]: must be one of RequestReceived, .*, not "End"$/,
    ],
    [`${head}omitStages: [End]\nrules: [{level: None}]`, /^omitStages\[0\]: must be one of/],
    [
      `${head}rules: [{level: None, nonResourceURLs: [a]}]`,
      /nonResourceURLs\[0\]: must be \* or a path from \/ on, with \* at its end only, not "a"$/,
    ],
    [`${head}rules: [{level: None, nonResourceURLs: ["/*/a"]}]`, /with \* at its end only, not "\/\*\/a"$/],
    [
      `${head}rules: [{level: None, namespaces: [a], nonResourceURLs: ["*"]}]`,
      /^rules\[0\]\.nonResourceURLs: cannot be combined with namespaces; write two rules$/,
    ],
    [
      `${head}rules: [{level: None, resources: [{resourceNames: [a]}]}]`,
      /^rules\[0\]\.resources\[0\]\.resourceNames: needs resources: at least one/,
    ],
    [
      `${head}rules: [{level: None, resources: [{group: A/b}]}]`,
      /resources\[0\]\.group: must be a DNS subdomain: .*, not "A\/b"$/,
    ],
    [
      `${head}rules: [{level: None, omitManagedFields: yes please}]`,
      /omitManagedFields: must be true or false, not "yes please"$/,
    ],
  ];
  for (const [text, fault] of cases) {
    const parsed = parsePolicy(Buffer.from(text), kubernetes);
    t.match(parsed, fault, JSON.stringify(text));
    t.notMatch(parsed, /\n/);
  }
  const own = "apiVersion: audit.orch.io/v1\nkind: Policy\nrules: [{level: None}]";
  t.ok(parsePolicy(Buffer.from(own), orch) instanceof Policy, "names are those of the identity");
  t.match(parsePolicy(Buffer.from(own), kubernetes), /audit\.k8s\.io/);
  t.end();
});
