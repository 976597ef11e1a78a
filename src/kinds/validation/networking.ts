// Ingresses, ingress classes and network policies.
import { at, type FieldError, forbiddenField, invalid, notSupported, required, tooLong } from "../../api/fielderror.ts";
import type { LoadBalancerStatus, TypedLocalObjectReference } from "../../api/gen/core/v1.ts";
import type * as networking from "../../api/gen/networking/v1.ts";
import { GoText } from "../../api/gotext.ts";
import { contains, parseAddress, parseCidr } from "../address.ts";
import {
  bytesOf,
  immutableMessage,
  isDns1035Label,
  isDns1123Subdomain,
  isPathSegment,
  isPortName,
  isPortNumber,
  isWildcardDns1123Subdomain,
} from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { checkLabel1123, checkSubdomain, type Errors, eachItem, empty, faults } from "./check.ts";
import { checkDomainPath } from "./domains.ts";
import { checkLabelSelector } from "./selector.ts";

const controllerBytesMax = 250;

/** Rules of a new Ingress. */
export function validateIngress(object: networking.Ingress, context: StrategyContext): FieldError[] {
  const out = validateIngressSpec(object);
  const key = context.identity.spell("kubernetes.io/ingress.class");
  const annotated = object.metadata.annotations?.get(key);
  if (annotated !== undefined && object.spec.ingressClassName !== undefined) {
    out.push(invalid(`annotations.${key}`, annotated, "can not be set when the class field is also set"));
  }
  return out;
}

/** Rules of a changed Ingress. */
export function validateIngressUpdate(object: networking.Ingress): FieldError[] {
  return validateIngressSpec(object);
}

/** Rules of a changed status of an Ingress. */
export function validateIngressStatusUpdate(object: networking.Ingress): FieldError[] {
  const out: Errors = [];
  checkLoadBalancer(out, "status.loadBalancer", object.status.loadBalancer);
  return out;
}

/** Addresses a load balancer answers at. */
export function checkLoadBalancer(out: Errors, path: string, status: LoadBalancerStatus): void {
  eachItem(out, status.ingress, `${path}.ingress`, (ingress, place) => {
    if (!empty(ingress.ip) && parseAddress(ingress.ip) === undefined) {
      out.push(invalid(`${place}.ip`, ingress.ip, "must be a valid IP address"));
    }
    if (empty(ingress.hostname)) return;
    checkSubdomain(out, `${place}.hostname`, ingress.hostname);
    if (parseAddress(ingress.hostname)) {
      out.push(invalid(`${place}.hostname`, ingress.hostname, "must be a DNS name, not an IP address"));
    }
  });
}

function validateIngressSpec({ spec }: networking.Ingress): Errors {
  const out: Errors = [];
  if (!spec.rules?.length && spec.defaultBackend === undefined) {
    const none = new GoText("[]networking.IngressRule(nil)");
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

function checkIngressRule(out: Errors, path: string, rule: networking.IngressRule): void {
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

function checkIngressPath(out: Errors, path: string, of: networking.HTTPIngressPath): void {
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

function checkBackend(out: Errors, path: string, { service, resource }: networking.IngressBackend): void {
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

function checkReference(out: Errors, path: string, { kind, name, apiGroup }: TypedLocalObjectReference): void {
  if (apiGroup !== undefined) checkSubdomain(out, `${path}.apiGroup`, apiGroup);
  if (kind === "") out.push(required(`${path}.kind`, "kind is required"));
  else faults(out, `${path}.kind`, kind, isPathSegment(kind));
  if (name === "") out.push(required(`${path}.name`, "name is required"));
  else faults(out, `${path}.name`, name, isPathSegment(name));
}

/** Rules of a new IngressClass. */
export function validateIngressClass({ spec }: networking.IngressClass): FieldError[] {
  const out: Errors = [];
  const controller = spec.controller ?? "";
  if (bytesOf(controller) > controllerBytesMax) out.push(tooLong("spec.controller", controllerBytesMax));
  checkDomainPath(out, "spec.controller", controller);
  const path = "spec.parameters";
  if (spec.parameters === undefined) return out;
  checkReference(out, path, spec.parameters);
  const { scope, namespace } = spec.parameters;
  if (scope === undefined) out.push(required(`${path}.scope`));
  else if (scope === "Namespace") {
    if (namespace === undefined) {
      out.push(required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'"));
    } else checkLabel1123(out, `${path}.namespace`, namespace);
  } else if (scope === "Cluster") {
    if (namespace !== undefined) {
      out.push(forbiddenField(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'"));
    }
  } else out.push(notSupported(`${path}.scope`, scope, ["Cluster", "Namespace"]));
  return out;
}

/** Rules of a changed IngressClass. */
export function validateIngressClassUpdate(
  object: networking.IngressClass,
  old: networking.IngressClass,
): FieldError[] {
  const controller = object.spec.controller ?? "";
  const changed = controller !== (old.spec.controller ?? "");
  const out: Errors = changed ? [invalid("spec.controller", controller, immutableMessage)] : [];
  return [...out, ...validateIngressClass(object)];
}

/** Rules of a NetworkPolicy, new or changed. */
export function validateNetworkPolicy({ spec }: networking.NetworkPolicy): FieldError[] {
  const out: Errors = [];
  checkLabelSelector(out, "spec.podSelector", spec.podSelector);
  eachItem(out, spec.ingress, "spec.ingress", (rule, path) => {
    eachItem(out, rule.ports, `${path}.ports`, (port, place) => checkPolicyPort(out, place, port));
    eachItem(out, rule.from, `${path}.from`, (peer, place) => checkPeer(out, place, peer));
  });
  eachItem(out, spec.egress, "spec.egress", (rule, path) => {
    eachItem(out, rule.ports, `${path}.ports`, (port, place) => checkPolicyPort(out, place, port));
    eachItem(out, rule.to, `${path}.to`, (peer, place) => checkPeer(out, place, peer));
  });
  const types = spec.policyTypes ?? [];
  if (types.length > 2) {
    out.push(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"));
    return out;
  }
  for (const [i, type] of types.entries()) {
    const known = ["Ingress", "Egress"];
    if (!known.includes(type)) out.push(notSupported(at("spec.policyTypes", i), type, known));
  }
  return out;
}

function checkPolicyPort(out: Errors, path: string, { protocol, port, endPort }: networking.NetworkPolicyPort): void {
  const protocols = ["TCP", "UDP", "SCTP"];
  if (protocol !== undefined && !protocols.includes(protocol)) {
    out.push(notSupported(`${path}.protocol`, protocol, protocols));
  }
  const last = `${path}.endPort`;
  if (typeof port === "number") {
    faults(out, `${path}.port`, port, isPortNumber(port));
    if (endPort === undefined) return;
    if (endPort < port) out.push(invalid(last, port, "must be greater than or equal to `port`"));
    faults(out, last, endPort, isPortNumber(endPort));
  } else if (port !== undefined) {
    if (endPort !== undefined) out.push(invalid(last, endPort, "may not be specified when `port` is non-numeric"));
    faults(out, `${path}.port`, port, isPortName(port));
  } else if (endPort !== undefined) {
    out.push(invalid(last, endPort, "may not be specified when `port` is not specified"));
  }
}

function checkPeer(out: Errors, path: string, peer: networking.NetworkPolicyPeer): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  checkLabelSelector(out, `${path}.podSelector`, podSelector);
  checkLabelSelector(out, `${path}.namespaceSelector`, namespaceSelector);
  if (ipBlock !== undefined) checkBlock(out, `${path}.ipBlock`, ipBlock);
  const count = [podSelector, namespaceSelector, ipBlock].filter((member) => member !== undefined).length;
  if (count === 0) out.push(required(path, "must specify a peer"));
  else if (count > 1 && ipBlock) out.push(forbiddenField(path, "may not specify both ipBlock and another peer"));
}

function checkBlock(out: Errors, path: string, { cidr, except }: networking.IPBlock): void {
  if (cidr === "") {
    out.push(required(`${path}.cidr`));
    return;
  }
  const block = parseCidr(cidr);
  if (block === undefined) {
    out.push(invalid(`${path}.cidr`, cidr, "not a valid CIDR"));
    return;
  }
  eachItem(out, except, `${path}.except`, (text, place) => {
    const hole = parseCidr(text);
    if (hole === undefined) out.push(invalid(place, text, "not a valid CIDR"));
    else if (!contains(block, hole.address) || block.bits >= hole.bits) {
      out.push(invalid(place, text, "must be a strict subset of `cidr`"));
    }
  });
}
