// Webhooks out of their configurations, and which of them a write concerns. Configurations are read through a table that
// follows the log, so a change counts for every write that begins after it was acknowledged. What no rule matches is
// found out by one look into a map.
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "../../api/gen/admissionregistration/v1.ts";
import type { LabelSelector } from "../../api/gen/meta/v1.ts";
import { compareBytes } from "../../api/gotext.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import type { ObjectTable } from "../../cache/view/objects.ts";
import { selects } from "../../kinds/validation/selector.ts";
import type { Attributes } from "../plugin.ts";

type Configuration = ApiObject & (MutatingWebhookConfiguration | ValidatingWebhookConfiguration);

/** One webhook of one configuration. */
export interface Hook {
  readonly configuration: string;
  readonly hook: MutatingWebhook | ValidatingWebhook;
  /** Unique among the hooks of a kind of configuration, and the same after others changed. */
  readonly key: string;
}

/** A webhook a write concerns, and the version of its resource that a rule names. */
export interface Match {
  readonly hook: Hook;
  readonly resource: Resource;
}

/** The webhooks of one kind of configuration, in the order they are asked: by configuration, then as listed. */
export class Hooks {
  readonly #table: ObjectTable<Configuration>;
  readonly #scheme: Scheme;
  readonly #exempt: string;
  #version = -1;
  #hooks: readonly Hook[] = [];
  /** Webhooks whose rules match, by resource and then by subresource and operation. */
  #matches = new Map<Resource, Map<string, readonly Match[]>>();

  constructor(table: ObjectTable<Configuration>, scheme: Scheme) {
    this.#table = table;
    this.#scheme = scheme;
    this.#exempt = scheme.identity.spell("admissionregistration.k8s.io");
  }

  /** Webhooks whose rules match a write; selectors are still to be asked. */
  matching({ resource, subresource, operation }: Attributes): readonly Match[] {
    const version = this.#table.refresh();
    if (version !== this.#version) this.#reload(version);
    if (this.#hooks.length === 0) return none;
    let byOperation = this.#matches.get(resource);
    if (byOperation === undefined) this.#matches.set(resource, (byOperation = new Map()));
    const key = `${operation} ${subresource}`;
    let found = byOperation.get(key);
    if (found === undefined) byOperation.set(key, (found = this.#find(resource, subresource, operation)));
    return found;
  }

  #reload(version: number): void {
    const configurations = this.#table.list("").toSorted((a, b) => compareBytes(nameOf(a), nameOf(b)));
    this.#hooks = configurations.flatMap((configuration) => {
      const seen = new Map<string, number>();
      return (configuration.webhooks ?? []).map((hook): Hook => {
        const index = seen.get(hook.name) ?? 0;
        seen.set(hook.name, index + 1);
        return { configuration: nameOf(configuration), hook, key: `${nameOf(configuration)}/${hook.name}/${index}` };
      });
    });
    this.#matches = new Map();
    this.#version = version;
  }

  #find(resource: Resource, subresource: string, operation: Attributes["operation"]): readonly Match[] {
    // A webhook that refused changes of its own configuration could never be mended.
    if (resource.group === this.#exempt && configurations.has(resource.resource)) return none;
    const found: Match[] = [];
    for (const hook of this.#hooks) {
      const at = this.#versionFor(hook, resource, subresource, operation);
      if (at !== undefined) found.push({ hook, resource: at });
    }
    return found;
  }

  /** The version of a resource a webhook asks for: the request's own, else the first that is equivalent. */
  #versionFor(
    { hook }: Hook,
    resource: Resource,
    subresource: string,
    operation: Attributes["operation"],
  ): Resource | undefined {
    const rules = hook.rules ?? [];
    const wants = (at: Resource): boolean => rules.some((rule) => matchesRule(rule, at, subresource, operation));
    if (wants(resource)) return resource;
    if (hook.matchPolicy === "Exact" || resource.stored === undefined) return undefined;
    return this.#scheme.resources.find(
      (other) => other !== resource && other.stored === resource.stored && offers(other, subresource) && wants(other),
    );
  }
}

const none: readonly Match[] = [];
const configurations = new Set(["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]);

function nameOf({ metadata }: ApiObject): string {
  return metadata.name ?? "";
}

function offers({ subresources }: Resource, subresource: string): boolean {
  return subresource === "" || subresources.some(({ name }) => name === subresource);
}

function matchesRule(
  rule: RuleWithOperations,
  resource: Resource,
  subresource: string,
  operation: Attributes["operation"],
): boolean {
  const names = (list: readonly string[] | undefined, value: string): boolean =>
    list?.some((item) => item === "*" || item === value) === true;
  if (!names(rule.operations, operation.toUpperCase())) return false;
  if (!names(rule.apiGroups, resource.group) || !names(rule.apiVersions, resource.version)) return false;
  if (rule.scope === "Namespaced" && !resource.namespaced) return false;
  if (rule.scope === "Cluster" && resource.namespaced) return false;
  return rule.resources?.some((pattern) => matchesResource(pattern, resource.resource, subresource)) === true;
}

/** A pattern is a name, or a name and a subresource; a star stands for any one of them, and alone for all but subresources. */
function matchesResource(pattern: string, resource: string, subresource: string): boolean {
  const slash = pattern.indexOf("/");
  const [name, sub] = slash < 0 ? [pattern, ""] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
  return (name === "*" || name === resource) && (sub === subresource || sub === "*");
}

/** Whether a webhook's selectors choose a write. `labelsOf`: of a namespace as it is now; undefined: there is none. */
export function isSelected(
  { hook }: Hook,
  attributes: Attributes,
  labelsOf: (namespace: string) => Labels | undefined,
): boolean | "no namespace" {
  const { resource, subresource, namespace, name, operation, object, old } = attributes;
  const { namespaceSelector, objectSelector } = hook;
  if (!selectsAll(objectSelector)) {
    const chosen = [object, old].some((one) => one !== undefined && meets(objectSelector, one.metadata?.labels));
    if (!chosen) return false;
  }
  if (selectsAll(namespaceSelector)) return true;
  const isNamespace = resource.group === "" && resource.resource === "namespaces";
  if (isNamespace && subresource === "" && (operation === "create" || operation === "update")) {
    return meets(namespaceSelector, object?.metadata.labels);
  }
  const within = isNamespace ? name : namespace;
  // What is in no namespace is never exempt.
  if (within === "") return true;
  const labels = labelsOf(within);
  return labels === undefined ? "no namespace" : meets(namespaceSelector, labels);
}

type Labels = ReadonlyMap<string, string>;

function selectsAll(selector: LabelSelector | undefined): boolean {
  return selector === undefined || (selector.matchLabels?.size ?? 0) + (selector.matchExpressions?.length ?? 0) === 0;
}

function meets(selector: LabelSelector | undefined, labels: Labels | undefined): boolean {
  return selects(selector, labels) === true;
}
