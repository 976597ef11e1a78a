// Service: ports, addresses and families of the cluster, traffic policies, and what may not change once given out.
import {
  duplicate,
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
} from "../../../api/fielderror.ts";
import type { Service, ServicePort, SessionAffinityConfig } from "../../../api/gen/core/v1.ts";
import { GoText, quote } from "../../../api/gotext.ts";
import { isIp, isIpv4, parseAddress, parseCidr } from "../../address.ts";
import { isDns1123Subdomain, isPortNumber } from "../../formats.ts";
import type { StrategyContext } from "../../strategy.ts";
import { checkNonSpecialIp } from "../../validation/addresses.ts";
import {
  checkChoice,
  checkLabel1123,
  checkLabels,
  checkPort,
  checkQualifiedName,
  checkSubdomain,
  type Errors,
  eachItem,
  empty,
  faults,
  isFull,
  portProtocols,
} from "../../validation/check.ts";
import { goIntOrString, goStringList } from "../../validation/gostruct.ts";
import { namesOf } from "../../validation/names.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinities = ["ClientIP", "None"];
const families = ["IPv4", "IPv6"];
const familyPolicies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const trafficPolicies = ["Cluster", "Local"];
/** Port of the agent on every node: balancers in front of nodes must not show it. */
const agentPort = 10250;
const affinitySecondsMax = 86400;
const changed = "may not change once set";

/** Rules of a new service. */
export function validateService(object: Service, context: StrategyContext): FieldError[] {
  return [...validateSound(object, context, true), ...faultsOfMix(object, context, false)];
}

function validateSound(object: Service, context: StrategyContext, isNew: boolean): FieldError[] {
  const wrongIps = faultsOfIps(object);
  if (wrongIps.length > 0) return wrongIps;
  const out: Errors = [];
  const { spec } = object;
  const ports = spec.ports ?? [];
  const headless = isHeadless(object);
  if (ports.length === 0 && !headless && spec.type !== "ExternalName") out.push(required("spec.ports"));
  checkOfType(out, object, ports, headless);
  checkPorts(out, ports);
  checkLabels(out, "spec.selector", spec.selector);
  checkSessionAffinity(out, object);
  eachItem(out, spec.externalIPs, "spec.externalIPs", (ip, path) => {
    const wrong = isIp(ip);
    faults(out, path, ip, wrong);
    if (wrong.length === 0) checkNonSpecialIp(out, path, ip);
  });
  checkChoice(out, "spec.type", spec.type, types);
  checkPortsTogether(out, object, ports, isNew);
  checkSourceRanges(out, object, namesOf(context.identity).sourceRanges);
  checkBalancer(out, object);
  checkTraffic(out, object);
  return out;
}

/** Rules of a changed service: addresses and families stay unless the type or the stack changes. */
export function validateServiceUpdate(object: Service, old: Service, context: StrategyContext): FieldError[] {
  const wrongIps = faultsOfIps(object);
  if (wrongIps.length > 0) return wrongIps;
  const out: Errors = [];
  if (object.spec.type !== "ExternalName" && old.spec.type !== "ExternalName") {
    checkIpChange(out, object, old);
    checkFamilyChange(out, object, old);
  }
  const balanced = object.spec.type === "LoadBalancer" && old.spec.type === "LoadBalancer";
  if (balanced && object.spec.loadBalancerClass !== old.spec.loadBalancerClass) {
    out.push(invalid("spec.loadBalancerClass", object.spec.loadBalancerClass, changed));
  }
  checkBalancerClass(out, object);
  const port = object.spec.healthCheckNodePort ?? 0;
  if (isHealthChecked(object) && isHealthChecked(old) && port !== (old.spec.healthCheckNodePort ?? 0)) {
    out.push(forbiddenField("spec.healthCheckNodePort", "field is immutable"));
  }
  const allowsMix = isMixed(old.spec.ports ?? []);
  return [...out, ...validateSound(object, context, false), ...faultsOfMix(object, context, allowsMix)];
}

/** Rules of a changed status of a service. */
export function validateServiceStatusUpdate(object: Service, _old: Service, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  eachItem(out, object.status.loadBalancer.ingress, "status.loadBalancer.ingress", ({ ip, hostname }, path) => {
    if (!empty(ip) && parseAddress(ip) === undefined) {
      out.push(invalid(`${path}.ip`, ip, "must be a valid IP address"));
    }
    if (empty(hostname)) return;
    faults(out, `${path}.hostname`, hostname, isDns1123Subdomain(hostname));
    if (parseAddress(hostname) !== undefined) {
      out.push(invalid(`${path}.hostname`, hostname, "must be a DNS name, not an IP address"));
    }
  });
  return out;
}

function isHeadless({ spec }: Service): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === "None";
}

function isHealthChecked({ spec }: Service): boolean {
  return spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
}

function checkOfType(out: Errors, { spec }: Service, ports: readonly ServicePort[], headless: boolean): void {
  if (spec.type === "LoadBalancer") {
    eachItem(out, ports, "spec.ports", ({ port }, path) => {
      const why = `may not expose port ${agentPort} externally since it is used by kubelet`;
      if (port === agentPort) out.push(invalid(path, port, why));
    });
  }
  if (headless && (spec.type === "LoadBalancer" || spec.type === "NodePort")) {
    out.push(invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${spec.type} services`));
  }
  if (spec.type !== "ExternalName") return;
  const why = "may not be set for ExternalName services";
  if ((spec.clusterIPs?.length ?? 0) > 0) out.push(forbiddenField("spec.clusterIPs", why));
  if ((spec.ipFamilies?.length ?? 0) > 0) out.push(forbiddenField("spec.ipFamilies", why));
  if (spec.ipFamilyPolicy !== undefined) out.push(forbiddenField("spec.ipFamilyPolicy", why));
  const name = spec.externalName ?? "";
  const host = name.endsWith(".") ? name.slice(0, -1) : name;
  if (host === "") out.push(required("spec.externalName"));
  else checkSubdomain(out, "spec.externalName", host);
}

function checkPorts(out: Errors, ports: readonly ServicePort[]): void {
  const names = new Set<string>();
  eachItem(out, ports, "spec.ports", (port, path) => {
    if (!empty(port.name)) {
      checkLabel1123(out, `${path}.name`, port.name);
      if (names.has(port.name)) out.push(duplicate(`${path}.name`, port.name));
      names.add(port.name);
    } else if (ports.length > 1) out.push(required(`${path}.name`));
    faults(out, `${path}.port`, port.port, isPortNumber(port.port));
    checkChoice(out, `${path}.protocol`, port.protocol, portProtocols);
    checkPort(out, `${path}.targetPort`, port.targetPort);
    if (port.appProtocol !== undefined) checkQualifiedName(out, `${path}.appProtocol`, port.appProtocol);
  });
}

/** What ports may not have in common. */
function checkPortsTogether(out: Errors, { spec }: Service, ports: readonly ServicePort[], isNew: boolean): void {
  if (spec.type === "ClusterIP") {
    eachItem(out, ports, "spec.ports", ({ nodePort = 0 }, path) => {
      const why = "may not be used when `type` is 'ClusterIP'";
      if (nodePort !== 0) out.push(forbiddenField(`${path}.nodePort`, why));
    });
  }
  const nodePorts = new Set<string>();
  eachItem(out, ports, "spec.ports", ({ nodePort = 0, protocol }, path) => {
    if (nodePort === 0) return;
    const key = `${protocol}/${nodePort}`;
    if (nodePorts.has(key)) out.push(duplicate(`${path}.nodePort`, nodePort));
    nodePorts.add(key);
  });
  const seen = new Set<string>();
  const takesNodePorts =
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
  eachItem(out, ports, "spec.ports", ({ port, protocol = "", nodePort = 0 }, path) => {
    const key = `${protocol}/${port}`;
    if (!seen.has(key)) {
      seen.add(key);
      return;
    }
    out.push(duplicate(path, new GoText(goPort({ protocol, port, targetPort: 0 }))));
    // Upstream has given both ports of a new service the same node port by now.
    if (isNew && takesNodePorts && nodePort === 0) out.push(duplicate(`${path}.nodePort`, nodePort));
  });
}

function isMixed(ports: readonly ServicePort[]): boolean {
  return ports.some(({ protocol }) => protocol !== ports[0]?.protocol);
}

/** Load balancers of one address and several protocols are behind a gate; one that is there may stay. */
function faultsOfMix({ spec }: Service, { gates }: StrategyContext, allowed: boolean): FieldError[] {
  const ports = spec.ports ?? [];
  if (spec.type !== "LoadBalancer" || allowed || gates.has("MixedProtocolLBService") || !isMixed(ports)) return [];
  const shown = new GoText(`[]core.ServicePort{${ports.map(goPort).join(", ")}}`);
  return [invalid("spec.ports", shown, "may not contain more than 1 protocol when type is 'LoadBalancer'")];
}

/** A port as upstream prints it; an app protocol would show an address of memory and is left out. */
function goPort({ name = "", protocol = "", port, targetPort, nodePort = 0 }: ServicePort): string {
  return (
    `core.ServicePort{Name:${quote(name)}, Protocol:${quote(protocol)}, AppProtocol:(*string)(nil), Port:${port}, ` +
    `TargetPort:${goIntOrString(targetPort).text}, NodePort:${nodePort}}`
  );
}

function checkSessionAffinity(out: Errors, { spec }: Service): void {
  const { sessionAffinity: affinity, sessionAffinityConfig: config } = spec;
  checkChoice(out, "spec.sessionAffinity", affinity, affinities);
  if (affinity === "ClientIP") checkAffinityConfig(out, "spec.sessionAffinityConfig", config);
  if (affinity === "None" && config !== undefined) {
    out.push(forbiddenField("spec.sessionAffinityConfig", "must not be set when session affinity is None"));
  }
}

function checkAffinityConfig(out: Errors, path: string, config: SessionAffinityConfig | undefined): void {
  const why = "when session affinity type is ClientIP";
  const at = `${path}.clientIP`;
  if (config === undefined) out.push(required(path, why));
  else if (config.clientIP === undefined) out.push(required(at, why));
  else if (config.clientIP.timeoutSeconds === undefined) out.push(required(`${at}.timeoutSeconds`, why));
  else {
    const seconds = config.clientIP.timeoutSeconds;
    const range = `must be greater than 0 and less than ${affinitySecondsMax}`;
    if (seconds <= 0 || seconds > affinitySecondsMax) out.push(invalid(`${at}.timeoutSeconds`, seconds, range));
  }
}

/** What contradicts itself in the addresses is told alone: upstream finds it when it gives out addresses. */
function faultsOfIps(object: Service): FieldError[] {
  const out: Errors = [];
  checkClusterIps(out, object);
  return out;
}

/** Cluster addresses, families and their policy together. */
function checkClusterIps(out: Errors, object: Service): void {
  const { spec } = object;
  if (spec.type === "ExternalName") return;
  const ips = spec.clusterIPs ?? [];
  checkFirstIp(out, spec.clusterIP ?? "", ips);
  const seen = new Set<string>();
  eachItem(out, spec.ipFamilies, "spec.ipFamilies", (family, path) => {
    if (!families.includes(family)) out.push(notSupported(path, family, families));
    if (seen.has(family)) out.push(duplicate(path, family));
    seen.add(family);
  });
  const policy = spec.ipFamilyPolicy;
  if (policy !== undefined && !familyPolicies.includes(policy)) {
    out.push(notSupported("spec.ipFamilyPolicy", policy, familyPolicies));
  }
  const sound = checkEachIp(out, ips);
  if (ips.length > 2) out.push(invalid("spec.clusterIPs", goStringList(ips), "may only hold up to 2 values"));
  if (!sound) return;
  if (ips.length > 1 && new Set(ips.map(isIpv6)).size < 2) {
    const why = "may specify no more than one IP for each IP family";
    out.push(invalid("spec.clusterIPs", goStringList(ips), why));
  }
  if (isHeadless(object)) return;
  for (const [i, ip] of ips.entries()) {
    const family = spec.ipFamilies?.[i];
    if (family === undefined) break;
    const found = isIpv6(ip) ? "IPv6" : "IPv4";
    if (!families.includes(family) || family === found) continue;
    out.push(invalid(`spec.clusterIPs[${i}]`, ip, `expected an ${family} value as indicated by \`ipFamilies[${i}]\``));
  }
}

function isIpv6(ip: string): boolean {
  const address = parseAddress(ip);
  return address !== undefined && !isIpv4(address);
}

function checkFirstIp(out: Errors, ip: string, ips: readonly string[]): void {
  const shown = goStringList(ips);
  if (ip === "") {
    if (ips.length > 0) out.push(invalid("spec.clusterIPs", shown, "must be empty when `clusterIP` is not specified"));
  } else if (ips.length === 0) out.push(required("spec.clusterIPs"));
  else if (ips[0] !== ip) out.push(invalid("spec.clusterIPs", shown, "first value must match `clusterIP`"));
}

/** False when an address is none, or None is not alone. */
function checkEachIp(out: Errors, ips: readonly string[]): boolean {
  const before = out.length;
  eachItem(out, ips, "spec.clusterIPs", (ip, path, i) => {
    if (i > 0 || ip !== "None") faults(out, path, ip, isIp(ip));
    else if (ips.length > 1) {
      out.push(invalid("spec.clusterIPs", goStringList(ips), "'None' must be the first and only value"));
    }
  });
  return out.length === before;
}

/** Ranges clients may come from, in the field or in the annotation that came before it. */
function checkSourceRanges(out: Errors, { metadata, spec }: Service, annotation: string): void {
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const note = metadata.annotations?.get(annotation);
  if (ranges.length === 0 && note === undefined) return;
  const given = ranges.length > 0;
  const path = given ? "spec.LoadBalancerSourceRanges" : `metadata.annotations[${annotation}]`;
  if (spec.type !== "LoadBalancer") {
    out.push(forbiddenField(path, "may only be used when `type` is 'LoadBalancer'"));
  }
  const list = given ? ranges : (note ?? "").trim() === "" ? [] : (note ?? "").trim().split(",");
  if (list.every((range) => parseCidr(range.trim()) !== undefined)) return;
  const why = "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ";
  out.push(invalid(path, given ? `[${ranges.join(" ")}]` : note, why));
}

function checkBalancer(out: Errors, object: Service): void {
  const { type, allocateLoadBalancerNodePorts: allocates } = object.spec;
  if (allocates !== undefined && type !== "LoadBalancer") {
    out.push(forbiddenField("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'"));
  }
  if (allocates === undefined && type === "LoadBalancer") out.push(required("allocateLoadBalancerNodePorts"));
  checkBalancerClass(out, object);
}

function checkBalancerClass(out: Errors, { spec }: Service): void {
  const path = "spec.loadBalancerClass";
  if (spec.loadBalancerClass === undefined) return;
  if (spec.type === "LoadBalancer") checkQualifiedName(out, path, spec.loadBalancerClass);
  else out.push(forbiddenField(path, "may only be used when `type` is 'LoadBalancer'"));
}

function checkTraffic(out: Errors, object: Service): void {
  const { type, externalTrafficPolicy: external, internalTrafficPolicy: internal } = object.spec;
  const path = "spec.externalTrafficPolicy";
  if (!empty(external)) {
    if (type !== "NodePort" && type !== "LoadBalancer") {
      out.push(invalid(path, external, "may only be set when `type` is 'NodePort' or 'LoadBalancer'"));
    } else if (!trafficPolicies.includes(external)) out.push(notSupported(path, external, trafficPolicies));
  }
  const port = object.spec.healthCheckNodePort ?? 0;
  if (port !== 0) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    const wrong = isHealthChecked(object) ? isPortNumber(port) : [why];
    faults(out, "spec.healthCheckNodePort", port, wrong);
  }
  const at = "spec.internalTrafficPolicy";
  if (internal === undefined) {
    if (type === "NodePort" || type === "LoadBalancer" || type === "ClusterIP") out.push(required(at));
  } else if (!trafficPolicies.includes(internal)) out.push(notSupported(at, internal, trafficPolicies));
}

function checkIpChange(out: Errors, object: Service, old: Service): void {
  if (isHeadless(object) && isHeadless(old)) return;
  const [now, before] = [object.spec.clusterIPs ?? [], old.spec.clusterIPs ?? []];
  const shown = goStringList(now);
  if (now.length === before.length) {
    for (const [i, ip] of before.entries()) {
      if (ip !== now[i] && !isFull(out)) out.push(invalid(`spec.clusterIPs[${i}]`, shown, changed));
    }
    return;
  }
  const lost = before.length > now.length;
  if (lost && now.length === 0) {
    out.push(invalid("spec.clusterIPs[0]", goStringList(object.spec.clusterIPs), "primary clusterIP can not be unset"));
  }
  if (now.length > 0 && before.length > 0 && now[0] !== before[0]) {
    out.push(invalid("spec.clusterIPs[0]", shown, changed));
  }
  if (lost && now.length === 1) checkReleased(out, object, "clusterIP");
}

function checkFamilyChange(out: Errors, object: Service, old: Service): void {
  // Headless services have no addresses to fit, and lose or gain them with the change.
  if (isHeadless(object) || isHeadless(old)) return;
  const [now, before] = [object.spec.ipFamilies ?? [], old.spec.ipFamilies ?? []];
  const path = "spec.ipFamilies[0]";
  const ips = goStringList(object.spec.clusterIPs);
  if (now.length === before.length) {
    const shown = goStringList(now, "[]core.IPFamily");
    for (const [i, family] of before.entries())
      if (family !== now[i] && !isFull(out)) out.push(invalid(path, shown, changed));
    return;
  }
  const lost = before.length > now.length;
  if (lost && (object.spec.clusterIPs?.length ?? 0) === 0) {
    const shown = goStringList(object.spec.ipFamilies, "[]core.IPFamily");
    out.push(invalid(path, shown, "primary ipFamily can not be unset"));
  }
  if (now.length > 0 && before.length > 0 && now[0] !== before[0]) out.push(invalid(path, ips, changed));
  if (lost && now.length === 1) checkReleased(out, object, "ipFamily");
}

function checkReleased(out: Errors, { spec }: Service, what: string): void {
  if (spec.ipFamilyPolicy === "SingleStack") return;
  const why = `must be set to 'SingleStack' when releasing the secondary ${what}`;
  out.push(invalid("spec.ipFamilyPolicy", spec.ipFamilyPolicy, why));
}
