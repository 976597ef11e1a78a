// FlowSchema: which requests run at which priority level.
import { type FieldError, forbiddenField, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { FlowSchema as StoredSchema } from "../../api/gen/flowcontrol/v1beta1.ts";
import type {
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from "../../api/gen/flowcontrol/v1beta2.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, none } from "../columns.ts";
import { isDns1123Label } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import { specAndMetadata } from "../resetfields.ts";
import type { Strategy } from "../strategy.ts";
import { checkSubdomain, type Errors, eachItem, empty, faults } from "../validation/check.ts";

/** Behaviour of flow schemas. */
export function flowSchemaBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: flowSchemaStrategy(resource),
    columns: flowSchemaColumns(),
    resetFields: specAndMetadata,
    metaRules: { update: [1, 0], parts: { status: [0, 0] } },
  };
}

function flowSchemaStrategy(resource: Resource): Strategy<FlowSchema> {
  return strategyFor<FlowSchema>(resource, {
    counts: ["spec"],
    keepsMetaOnStatus: true,
    validate: validateFlowSchema,
    validateUpdate: validateFlowSchema,
  });
}

/** Columns of flow schemas. */
function flowSchemaColumns(): Columns<StoredSchema> {
  return {
    columns: [
      nameColumn,
      column("PriorityLevel", "Level its requests run at", ({ spec }) => spec.priorityLevelConfiguration.name),
      column("MatchingPrecedence", "The lower, the sooner it is tried", ({ spec }) => spec.matchingPrecedence),
      column("DistinguisherMethod", "What tells its flows apart", ({ spec }) => spec.distinguisherMethod?.type ?? none),
      ageColumn,
      column("MissingPL", "Whether its level does not exist", ({ status }) => {
        return status.conditions?.find(({ type }) => type === "Dangling")?.status ?? "?";
      }),
    ],
  };
}

const precedenceMax = 10_000;

const verbs = ["*", "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/** Rules of a flow schema, new or changed. */
export function validateFlowSchema({ metadata, spec }: FlowSchema): FieldError[] {
  const out: Errors = [];
  if (spec.matchingPrecedence <= 0) {
    out.push(invalid("spec.matchingPrecedence", spec.matchingPrecedence, "must be a positive value"));
  }
  if (spec.matchingPrecedence > precedenceMax) {
    const why = `must not be greater than ${precedenceMax}`;
    out.push(invalid("spec.matchingPrecedence", spec.matchingPrecedence, why));
  }
  if (spec.matchingPrecedence === 1 && metadata.name !== "exempt") {
    out.push(invalid("spec.matchingPrecedence", 1, "only the schema named 'exempt' may have matchingPrecedence 1"));
  }
  const methods = ["ByNamespace", "ByUser"];
  const method = spec.distinguisherMethod?.type;
  if (method !== undefined && !methods.includes(method)) {
    out.push(notSupported("spec.distinguisherMethod.type", method, methods));
  }
  const level = spec.priorityLevelConfiguration.name;
  if (empty(level)) out.push(required("spec.priorityLevelConfiguration.name", "must reference a priority level"));
  else checkSubdomain(out, "spec.priorityLevelConfiguration.name", level);
  eachItem(out, spec.rules, "spec.rules", (rule, place) => checkRules(out, place, rule));
  return out;
}

function checkRules(out: Errors, path: string, rule: PolicyRulesWithSubjects): void {
  if (!rule.subjects?.length) out.push(required(`${path}.subjects`, "subjects must contain at least one value"));
  eachItem(out, rule.subjects, `${path}.subjects`, (subject, place) => checkSubject(out, place, subject));
  if (!rule.resourceRules?.length && !rule.nonResourceRules?.length) {
    out.push(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  }
  eachItem(out, rule.resourceRules, `${path}.resourceRules`, (of, place) => checkResourceRule(out, place, of));
  eachItem(out, rule.nonResourceRules, `${path}.nonResourceRules`, (of, place) => checkUrlRule(out, place, of));
}

const members = [
  ["ServiceAccount", "serviceAccount"],
  ["User", "user"],
  ["Group", "group"],
] as const;

function checkSubject(out: Errors, path: string, subject: Subject): void {
  const own = members.find(([kind]) => kind === subject.kind);
  if (own === undefined) {
    out.push(notSupported(`${path}.kind`, subject.kind, ["Group", "ServiceAccount", "User"]));
    return;
  }
  for (const [kind, member] of members) {
    if (kind !== subject.kind && subject[member] !== undefined) {
      out.push(forbiddenField(`${path}.${member}`, `${member} is forbidden when subject kind is not '${kind}'`));
    }
  }
  const member = own[1];
  if (subject[member] === undefined) {
    out.push(required(`${path}.${member}`, `${member} is required when subject kind is '${subject.kind}'`));
    return;
  }
  const { serviceAccount } = subject;
  if (member === "serviceAccount" && serviceAccount) {
    if (serviceAccount.name === "") out.push(required(`${path}.serviceAccount.name`));
    else if (serviceAccount.name !== "*") checkSubdomain(out, `${path}.serviceAccount.name`, serviceAccount.name);
    if (serviceAccount.namespace === "")
      out.push(required(`${path}.serviceAccount.namespace`, "must specify namespace for service account"));
    else
      faults(
        out,
        `${path}.serviceAccount.namespace`,
        serviceAccount.namespace,
        isDns1123Label(serviceAccount.namespace),
      );
  } else if (subject[member]?.name === "") out.push(required(`${path}.${member}.name`));
}

function checkList(out: Errors, path: string, list: readonly string[] | undefined, what: string): void {
  if (!list?.length) out.push(required(path, `${what} must contain at least one value`));
  else if (list.length > 1 && list.includes("*")) {
    out.push(invalid(path, list, `if '*' is present, must not specify other ${what}`));
  }
}

function checkVerbs(out: Errors, path: string, list: readonly string[] | undefined): void {
  if (!list?.length) out.push(required(path, "verbs must contain at least one value"));
  else if (list.includes("*")) {
    if (list.length > 1) out.push(invalid(path, list, "if '*' is present, must not specify other verbs"));
  } else if (!list.every((verb) => verbs.includes(verb))) out.push(notSupported(path, list, verbs));
}

function checkResourceRule(out: Errors, path: string, rule: ResourcePolicyRule): void {
  checkVerbs(out, `${path}.verbs`, rule.verbs);
  checkList(out, `${path}.apiGroups`, rule.apiGroups, "api groups");
  checkList(out, `${path}.resources`, rule.resources, "resources");
  if (!rule.namespaces?.length && !rule.clusterScope) {
    out.push(
      required(`${path}.namespaces`, "resource rules that are not cluster scoped must supply at least one namespace"),
    );
  } else if (rule.namespaces && rule.namespaces.length > 1 && rule.namespaces.includes("*")) {
    out.push(invalid(`${path}.namespaces`, rule.namespaces, "if '*' is present, must not specify other namespaces"));
  } else {
    eachItem(out, rule.namespaces, `${path}.namespaces`, (namespace, place) => {
      if (namespace !== "*") faults(out, place, namespace, isDns1123Label(namespace));
    });
  }
}

function checkUrlRule(out: Errors, path: string, rule: NonResourcePolicyRule): void {
  checkVerbs(out, `${path}.verbs`, rule.verbs);
  checkList(out, `${path}.nonResourceURLs`, rule.nonResourceURLs, "non-resource URLs");
  eachItem(out, rule.nonResourceURLs, `${path}.nonResourceURLs`, (url, place) => {
    if (url !== "*") checkUrl(out, place, url);
  });
}

function checkUrl(out: Errors, path: string, url: string): void {
  if (!url.startsWith("/")) out.push(invalid(path, url, "must start with slash"));
  if (url.includes(" ")) out.push(invalid(path, url, "must not contain white-space"));
  if (url.includes("//")) out.push(invalid(path, url, "must not contain double slash"));
  const star = url.indexOf("*");
  if (star >= 0 && (star !== url.length - 1 || !url.endsWith("/*"))) {
    out.push(invalid(path, url, "wildcard can only do suffix matching"));
  }
}
