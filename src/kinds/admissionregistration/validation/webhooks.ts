// Webhook configurations, mutating and validating.
import { duplicate, type FieldError, invalid, notSupported, required } from "../../../api/fielderror.ts";
import type * as admission from "../../../api/gen/admissionregistration/v1.ts";
import { isDns1035Label, isDns1123Subdomain, isPortNumber } from "../../formats.ts";
import { type Errors, eachItem, empty, faults, isFull } from "../../validation/check.ts";
import { checkFullyQualified } from "../../validation/domains.ts";
import { checkLabelSelector } from "../../validation/selector.ts";

const reviewVersions = ["v1", "v1beta1"];
const secondsMax = 30;

type Webhook = admission.MutatingWebhook | admission.ValidatingWebhook;

/** Rules of a webhook configuration, new or changed. */
export function validateWebhooks(object: { webhooks?: Webhook[] | undefined }): FieldError[] {
  const out: Errors = [];
  const names = new Set<string>();
  eachItem(out, object.webhooks, "webhooks", (webhook, path) => {
    checkWebhook(out, path, webhook);
    checkReviewVersions(out, `${path}.admissionReviewVersions`, webhook.admissionReviewVersions ?? []);
    if (webhook.name === "") return;
    if (names.has(webhook.name)) out.push(duplicate(`${path}.name`, webhook.name));
    names.add(webhook.name);
  });
  return out;
}

function checkWebhook(out: Errors, path: string, webhook: Webhook): void {
  checkFullyQualified(out, `${path}.name`, webhook.name);
  eachItem(out, webhook.rules, `${path}.rules`, (rule, place) => checkRule(out, place, rule));
  checkSet(out, `${path}.failurePolicy`, webhook.failurePolicy, ["Fail", "Ignore"]);
  checkSet(out, `${path}.matchPolicy`, webhook.matchPolicy, ["Equivalent", "Exact"]);
  const effects = ["None", "NoneOnDryRun"];
  if (webhook.sideEffects === undefined) {
    out.push(required(`${path}.sideEffects`, `must specify one of ${effects.join(", ")}`));
  }
  checkSet(out, `${path}.sideEffects`, webhook.sideEffects, effects);
  const seconds = webhook.timeoutSeconds;
  if (seconds !== undefined && (seconds > secondsMax || seconds < 1)) {
    const why = `the timeout value must be between 1 and ${secondsMax} seconds`;
    out.push(invalid(`${path}.timeoutSeconds`, seconds, why));
  }
  checkLabelSelector(out, `${path}.namespaceSelector`, webhook.namespaceSelector);
  checkLabelSelector(out, `${path}.objectSelector`, webhook.objectSelector);
  if ("reinvocationPolicy" in webhook) {
    checkSet(out, `${path}.reinvocationPolicy`, webhook.reinvocationPolicy, ["IfNeeded", "Never"]);
  }
  checkClient(out, `${path}.clientConfig`, webhook.clientConfig);
}

function checkSet(out: Errors, path: string, value: string | undefined, supported: readonly string[]): void {
  if (value !== undefined && !supported.includes(value)) out.push(notSupported(path, value, supported));
}

function checkReviewVersions(out: Errors, path: string, versions: readonly string[]): void {
  if (versions.length === 0) {
    out.push(required(path, `must specify one of ${reviewVersions.join(", ")}`));
    return;
  }
  const seen = new Set<string>();
  eachItem(out, versions, path, (version, place) => {
    if (seen.has(version)) out.push(duplicate(place, version));
    seen.add(version);
    faults(out, place, version, isDns1035Label(version));
  });
  if (!versions.some((version) => reviewVersions.includes(version))) {
    out.push(invalid(path, versions, `must include at least one of ${reviewVersions.join(", ")}`));
  }
}

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

function checkRule(out: Errors, path: string, rule: admission.RuleWithOperations): void {
  checkWild(out, `${path}.operations`, rule.operations ?? [], "other operations");
  eachItem(out, rule.operations, `${path}.operations`, (operation, place) => {
    checkSet(out, place, operation, operations);
  });
  checkWild(out, `${path}.apiGroups`, rule.apiGroups ?? [], "other API groups");
  checkWild(out, `${path}.apiVersions`, rule.apiVersions ?? [], "other API versions");
  eachItem(out, rule.apiVersions, `${path}.apiVersions`, (version, place) => {
    if (version === "") out.push(required(place));
  });
  checkResources(out, `${path}.resources`, rule.resources ?? []);
  checkSet(out, `${path}.scope`, rule.scope, ["*", "Cluster", "Namespaced"]);
}

function checkWild(out: Errors, path: string, list: readonly string[], others: string): void {
  if (list.length === 0) out.push(required(path));
  if (list.length > 1 && list.includes("*")) {
    out.push(invalid(path, list, `if '*' is present, must not specify ${others}`));
  }
}

function checkResources(out: Errors, path: string, resources: readonly string[]): void {
  if (resources.length === 0) out.push(required(path));
  const plain = resources.filter((resource) => !resource.includes("/"));
  const all = new Set(resources);
  eachItem(out, resources, path, (resource, place) => {
    if (resource === "") out.push(required(place));
    const [name = "", sub] = resource.split("/");
    if (sub === undefined || resource === "*/*") return;
    const covered = sub !== "*" && all.has(`${name}/*`) ? `${name}/*` : undefined;
    const everywhere = name !== "*" && all.has(`*/${sub}`) ? `*/${sub}` : undefined;
    for (const by of [covered, everywhere]) {
      if (by) out.push(invalid(place, resource, `if '${by}' is present, must not specify ${resource}`));
    }
  });
  if (resources.length > 1 && resources.includes("*/*")) {
    out.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (plain.length > 1 && plain.includes("*")) {
    const why = "if '*' is present, must not specify other resources without subresources";
    out.push(invalid(path, resources, why));
  }
}

/** Where a webhook is reached: a URL or a service. */
export function checkClient(out: Errors, path: string, { url, service }: admission.WebhookClientConfig): void {
  if ((url === undefined) === (service === undefined)) {
    out.push(required(path, "exactly one of url or service is required"));
  } else if (url !== undefined) checkUrl(out, `${path}.url`, url);
  else if (service) checkService(out, `${path}.service`, service);
}

/** Scheme and authority, at the start of a URL. */
const urlStart = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?/;

function checkUrl(out: Errors, path: string, url: string): void {
  const form = "; desired format: https://host[/path]";
  const [, scheme = "", authority = ""] = urlStart.exec(url) ?? [];
  const [before = "", fragment] = cut(url, "#");
  const [, query] = cut(before, "?");
  const user = authority.includes("@") ? authority.slice(0, authority.lastIndexOf("@")) : undefined;
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  if (scheme !== "https") out.push(invalid(path, scheme, `'https' is the only allowed URL scheme${form}`));
  if (host === "") out.push(invalid(path, host, `host must be specified${form}`));
  if (user !== undefined) out.push(invalid(path, user, "user information is not permitted in the URL"));
  if (fragment !== "") out.push(invalid(path, fragment, "fragments are not permitted in the URL"));
  if (query !== "") out.push(invalid(path, query, "query parameters are not permitted in the URL"));
}

/** What stands before a mark, and after it. */
function cut(text: string, mark: string): [before: string, after: string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function checkService(out: Errors, path: string, service: admission.ServiceReference): void {
  if (empty(service.name)) out.push(required(`${path}.name`, "service name is required"));
  if (empty(service.namespace)) out.push(required(`${path}.namespace`, "service namespace is required"));
  const port = service.port ?? 443;
  for (const fault of isPortNumber(port)) out.push(invalid(`${path}.port`, port, `port is not valid: ${fault}`));
  const url = service.path;
  if (url === undefined || url === "" || url === "/") return;
  const place = `${path}.path`;
  if (url === "//") {
    out.push(invalid(place, url, "segment[0] may not be empty"));
    return;
  }
  if (!url.startsWith("/")) out.push(invalid(place, url, "must start with a '/'"));
  const steps = url.replace(/\/$/, "").slice(1).split("/");
  for (const [i, step] of steps.entries()) {
    if (isFull(out)) return;
    if (step === "") out.push(invalid(place, url, `segment[${i}] may not be empty`));
    else for (const fault of isDns1123Subdomain(step)) out.push(invalid(place, url, `segment[${i}]: ${fault}`));
  }
}
