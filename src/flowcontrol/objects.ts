// The flow schemas and priority levels that exist from the first start on, as upstream v1.23 has them. Mandatory ones are
// in force whatever becomes of their objects; suggested ones are kept as their annotation says (controllers/flowobjects.ts).
import type { FlowSchema, PriorityLevelConfiguration, Subject } from "../api/gen/flowcontrol/v1beta2.ts";
import type { Identity } from "../api/identity.ts";
import type { Scheme } from "../api/scheme.ts";

/** Group of both kinds, in canonical spelling. */
export const flowGroup = "flowcontrol.apiserver.k8s.io";

/** Annotation, in canonical spelling, that says whether the server keeps the spec of an object as it is here. */
export const autoupdateAnnotation = "apf.kubernetes.io/autoupdate-spec";

/** A built-in object. Specs are in the form that objects of the API have. */
export interface BuiltIn<Spec> {
  readonly name: string;
  readonly mandatory: boolean;
  readonly spec: Spec;
}

/** Built-in objects in the identity's names. */
export interface BuiltIns {
  readonly levels: readonly BuiltIn<PriorityLevelConfiguration["spec"]>[];
  readonly schemas: readonly BuiltIn<FlowSchema["spec"]>[];
}

type Rule = NonNullable<FlowSchema["spec"]["rules"]>[number];
type ResourceRule = NonNullable<Rule["resourceRules"]>[number];

/** Levels that queue: shares, queues and hand size; each queue holds 50 requests. */
const queuing: readonly (readonly [name: string, shares: number, queues: number, handSize: number])[] = [
  ["global-default", 20, 128, 6],
  ["leader-election", 10, 16, 4],
  ["node-high", 40, 64, 6],
  ["system", 30, 64, 6],
  ["workload-high", 40, 128, 6],
  ["workload-low", 100, 128, 6],
];

const everything: Pick<Rule, "resourceRules" | "nonResourceRules"> = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const allUsers = [group("system:unauthenticated"), group("system:authenticated")];

/** The built-in objects of an identity. */
export function builtIns({ spell }: Identity): BuiltIns {
  const systemAccounts = account(spell("kube-system"), "*");
  const elects = (namespace: string): readonly ResourceRule[] => [
    rule(["get", "create", "update"], "", ["endpoints", "configmaps"], [namespace]),
    rule(["get", "create", "update"], spell("coordination.k8s.io"), ["leases"], ["*"]),
  ];
  const election = [user("system:kube-controller-manager"), user("system:kube-scheduler"), systemAccounts];
  const nodes: readonly ResourceRule[] = [
    { ...rule(["*"], "", ["nodes", "nodes/status"], ["*"]), clusterScope: true },
    rule(["*"], spell("coordination.k8s.io"), ["leases"], ["*"]),
  ];
  const probes: Rule = {
    subjects: allUsers,
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
  };
  return {
    levels: levels(),
    schemas: [
      schema("exempt", "exempt", 1, "", { subjects: [group("system:masters")], ...everything }),
      schema("probes", "exempt", 2, "", probes),
      schema("system-leader-election", "leader-election", 100, "ByUser", {
        subjects: election,
        resourceRules: [...elects(spell("kube-system"))],
      }),
      schema("workload-leader-election", "leader-election", 200, "ByUser", {
        subjects: [systemAccounts],
        resourceRules: [...elects("*")],
      }),
      schema("system-node-high", "node-high", 400, "ByUser", {
        subjects: [group("system:nodes")],
        resourceRules: [...nodes],
      }),
      schema("system-nodes", "system", 500, "ByUser", { subjects: [group("system:nodes")], ...everything }),
      ...["kube-controller-manager", "kube-scheduler"].map((name) =>
        schema(name, "workload-high", 800, "ByNamespace", { subjects: [user(`system:${name}`)], ...everything }),
      ),
      schema(spell("kube-system-service-accounts"), "workload-high", 900, "ByNamespace", {
        subjects: [systemAccounts],
        ...everything,
      }),
      schema("service-accounts", "workload-low", 9000, "ByUser", {
        subjects: [group("system:serviceaccounts")],
        ...everything,
      }),
      schema("global-default", "global-default", 9900, "ByUser", { subjects: allUsers, ...everything }),
      schema("catch-all", "catch-all", 10_000, "ByUser", { subjects: allUsers, ...everything }),
    ],
  };
}

function levels(): BuiltIns["levels"] {
  const limitedOf = (shares: number, limitResponse: object): PriorityLevelConfiguration["spec"] =>
    ({ type: "Limited", limited: { assuredConcurrencyShares: shares, limitResponse } }) as never;
  return [
    { name: "catch-all", mandatory: true, spec: limitedOf(5, { type: "Reject" }) },
    { name: "exempt", mandatory: true, spec: { type: "Exempt" } },
    ...queuing.map(([name, shares, queues, handSize]) => ({
      name,
      mandatory: false,
      spec: limitedOf(shares, { type: "Queue", queuing: { queues, handSize, queueLengthLimit: 50 } }),
    })),
  ];
}

function schema(
  name: string,
  level: string,
  matchingPrecedence: number,
  distinguisher: "" | "ByUser" | "ByNamespace",
  rule: Rule,
): BuiltIn<FlowSchema["spec"]> {
  const distinguisherMethod = distinguisher === "" ? {} : { distinguisherMethod: { type: distinguisher } };
  const spec = {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence,
    ...distinguisherMethod,
    rules: [rule],
  };
  return { name, mandatory: name === "exempt" || name === "catch-all", spec };
}

function rule(
  verbs: readonly string[],
  apiGroup: string,
  resources: readonly string[],
  namespaces: readonly string[],
): ResourceRule {
  return { verbs: [...verbs], apiGroups: [apiGroup], resources: [...resources], namespaces: [...namespaces] };
}

function user(name: string): Subject {
  return { kind: "User", user: { name } };
}

function group(name: string): Subject {
  return { kind: "Group", group: { name } };
}

function account(namespace: string, name: string): Subject {
  return { kind: "ServiceAccount", serviceAccount: { namespace, name } };
}

/** Versions of both kinds, the preferred one first. */
const versions = ["v1beta2", "v1beta1"];

/** The version in which a kind is served; undefined: it is not. */
export function servedVersion({ identity, find }: Scheme, resource: string): string | undefined {
  return versions.find((version) => find(identity.spell(flowGroup), version, resource) !== undefined);
}
