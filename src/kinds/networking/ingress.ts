// Ingress: which requests from outside go to which service.
import { type FieldError, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { TypedLocalObjectReference } from "../../api/gen/core/v1.ts";
import type { HTTPIngressPath, Ingress, IngressBackend, IngressRule } from "../../api/gen/networking/v1.ts";
import { GoText } from "../../api/gotext.ts";
import type { Resource } from "../../api/scheme.ts";
import { parseAddress } from "../address.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, balancerAddresses, type Columns, column, nameColumn, none } from "../columns.ts";
import {
  isDns1035Label,
  isDns1123Subdomain,
  isPathSegment,
  isPortName,
  isPortNumber,
  isWildcardDns1123Subdomain,
} from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { checkSubdomain, type Errors, eachItem, empty, faults } from "../validation/check.ts";
import { checkLoadBalancer } from "../validation/loadbalancer.ts";

/** Behaviour of ingresses. */
export function ingressBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: ingressStrategy(resource),
    columns: ingressColumns(),
    metaRules: { update: [1, 1] },
  };
}

function ingressStrategy(resource: Resource): Strategy<Ingress> {
  return strategyFor<Ingress>(resource, {
    counts: ["spec"],
    validate: validateIngress,
    validateUpdate: validateIngressUpdate,
    validateStatus: validateIngressStatusUpdate,
  });
}

/** Columns of ingresses. */
function ingressColumns(): Columns<Ingress> {
  return {
    columns: [
      nameColumn,
      column("Class", "Class that serves the ingress", ({ spec }) => spec.ingressClassName ?? none),
      column("Hosts", "Hosts the rules are for", hosts),
      column("Address", "Addresses of the load balancer", ({ status }) =>
        balancerAddresses(status.loadBalancer).join(","),
      ),
      column("Ports", "Ports requests come in at", ({ spec }) => ((spec.tls ?? []).length > 0 ? "80, 443" : "80")),
      ageColumn,
    ],
  };
}

/** Rules without a host count as more, once three hosts are shown. */
function hosts({ spec: { rules = [] } }: Ingress): string {
  const shown: string[] = [];
  let more = false;
  for (const { host = "" } of rules) {
    if (shown.length === 3) more = true;
    else if (host !== "") shown.push(host);
  }
  if (shown.length === 0) return "*";
  return more ? `${shown.join(",")} + ${rules.length - 3} more...` : shown.join(",");
}

/** Rules of a new Ingress. */
export function validateIngress(object: Ingress, context: StrategyContext): FieldError[] {
  const out = validateIngressSpec(object);
  const key = context.identity.spell("kubernetes.io/ingress.class");
  const annotated = object.metadata.annotations?.get(key);
  if (annotated !== undefined && object.spec.ingressClassName !== undefined) {
    out.push(invalid(`annotations.${key}`, annotated, "can not be set when the class field is also set"));
  }
  return out;
}

/** Rules of a changed Ingress. */
export function validateIngressUpdate(object: Ingress): FieldError[] {
  return validateIngressSpec(object);
}

/** Rules of a changed status of an Ingress. */
export function validateIngressStatusUpdate(object: Ingress): FieldError[] {
  const out: Errors = [];
  checkLoadBalancer(out, "status.loadBalancer", object.status.loadBalancer);
  return out;
}

function validateIngressSpec({ spec }: Ingress): Errors {
  const out: Errors = [];
  if (!spec.rules?.length && spec.defaultBackend === undefined) {
    const none = new GoText("[]IngressRule(nil)");
    out.push(invalid("spec", none, "either `defaultBackend` or `rules` must be specified"));
  }
  if (spec.defaultBackend !== undefined) checkBackend(out, "spec.defaultBackend", spec.defaultBackend);
  eachItem(out, spec.rules, "spec.rules", (rule, place) => checkIngressRule(out, place, rule));
  eachItem(out, spec.tls, "spec.tls", (tls, path) => {
    eachItem(out, tls.hosts, `${path}.hosts`, (host, place) => faults(out, place, host, hostFaults(host)));
    if (!empty(tls.secretName)) checkSubdomain(out, `${path}.secretName`, tls.secretName);
  });
  if (spec.ingressClassName !== undefined) checkSubdomain(out, "spec.ingressClassName", spec.ingressClassName);
  return out;
}

function hostFaults(host: string): string[] {
  return host.includes("*") ? isWildcardDns1123Subdomain(host) : isDns1123Subdomain(host);
}

function checkIngressRule(out: Errors, path: string, rule: IngressRule): void {
  const host = rule.host ?? "";
  if (host !== "") {
    if (parseAddress(host)) out.push(invalid(`${path}.host`, host, "must be a DNS name, not an IP address"));
    faults(out, `${path}.host`, host, hostFaults(host));
  }
  if (rule.http === undefined) return;
  if (!rule.http.paths?.length) out.push(required(`${path}.http.paths`));
  eachItem(out, rule.http.paths, `${path}.http.paths`, (of, place) => checkIngressPath(out, place, of));
}

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
const pathParts = ["//", "/./", "/../", "%2f", "%2F"];

function checkIngressPath(out: Errors, path: string, of: HTTPIngressPath): void {
  if (of.pathType === undefined) {
    out.push(required(`${path}.pathType`, "pathType must be specified"));
    return;
  }
  const url = of.path ?? "";
  if (of.pathType === "ImplementationSpecific") {
    if (url !== "" && !url.startsWith("/")) out.push(invalid(`${path}.path`, url, "must be an absolute path"));
  } else if (pathTypes.includes(of.pathType)) {
    if (!url.startsWith("/")) out.push(invalid(`${path}.path`, url, "must be an absolute path"));
    for (const part of pathParts) {
      if (url.includes(part)) out.push(invalid(`${path}.path`, url, `must not contain '${part}'`));
    }
    for (const end of ["/..", "/."]) {
      if (url.endsWith(end)) out.push(invalid(`${path}.path`, url, `cannot end with '${end}'`));
    }
  } else out.push(notSupported(`${path}.pathType`, of.pathType, pathTypes));
  checkBackend(out, `${path}.backend`, of.backend);
}

function checkBackend(out: Errors, path: string, { service, resource }: IngressBackend): void {
  if (service && resource) {
    out.push(invalid(path, "", "cannot set both resource and service backends"));
  } else if (resource) {
    checkReference(out, `${path}.resource`, resource);
  } else if (service) {
    if (empty(service.name)) out.push(required(`${path}.service.name`));
    else faults(out, `${path}.service.name`, service.name, isDns1035Label(service.name));
    const { name, number } = service.port;
    if (name && number) out.push(invalid(path, "", "cannot set both port name & port number"));
    else if (name) faults(out, `${path}.service.port.name`, name, isPortName(name));
    else if (number) faults(out, `${path}.service.port.number`, number, isPortNumber(number));
    else out.push(required(path, "port name or number is required"));
  } else out.push(invalid(path, "", "resource or service backend is required"));
}

/** A reference to an object of the namespace that serves requests. */
export function checkReference(out: Errors, path: string, { kind, name, apiGroup }: TypedLocalObjectReference): void {
  if (apiGroup !== undefined) checkSubdomain(out, `${path}.apiGroup`, apiGroup);
  if (kind === "") out.push(required(`${path}.kind`, "kind is required"));
  else faults(out, `${path}.kind`, kind, isPathSegment(kind));
  if (name === "") out.push(required(`${path}.name`, "name is required"));
  else faults(out, `${path}.name`, name, isPathSegment(name));
}
