// Node: taints, pod ranges, the resources it reports, and what may be set once.
import {
  duplicate,
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
} from "../../../api/fielderror.ts";
import type { ConfigMapNodeConfigSource, Node, NodeConfigSource, Taint } from "../../../api/gen/core/v1.ts";
import { GoText, quote } from "../../../api/gotext.ts";
import { parseCidr } from "../../address.ts";
import { isConfigMapKey, isDns1123Label, isDns1123Subdomain, isLabelValue } from "../../formats.ts";
import type { StrategyContext } from "../../strategy.ts";
import { addAll, checkQualifiedName, type Errors, eachItem, empty, faults, isFull } from "../../validation/check.ts";
import { goStringList } from "../../validation/gostruct.ts";
import { type Names, namesOf } from "../../validation/names.ts";
import { checkResourceAmount } from "./pod/resources.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Rules of a new node. */
export function validateNode(object: Node, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkTaints(out, object.spec.taints);
  checkNodeResources(out, object, namesOf(context.identity));
  checkPodRanges(out, object.spec.podCIDRs ?? []);
  return out;
}

/** Rules of a changed node: those of a new one, and what may only be set once. */
export function validateNodeUpdate(object: Node, old: Node, context: StrategyContext): FieldError[] {
  const out = validateNode(object, context);
  addAll(out, validateNodeStatusUpdate(object, old, context));
  return out;
}

/** Rules of a changed status of a node. */
export function validateNodeStatusUpdate(object: Node, old: Node, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkNodeResources(out, object, namesOf(context.identity));
  checkNodeAddresses(out, object);
  checkSetOnce(out, object, old);
  const { configSource, taints } = object.spec;
  if (configSource !== undefined) checkConfigSource(out, "spec.configSource", configSource, false);
  for (const field of ["assigned", "active", "lastKnownGood"] as const) {
    const source = object.status.config?.[field];
    if (source !== undefined) checkConfigSource(out, `status.config.${field}`, source, true);
  }
  checkTaints(out, taints);
  if ((object.spec.externalID ?? "") !== (old.spec.externalID ?? "")) {
    out.push(forbiddenField("spec.externalID", "may not be updated"));
  }
  return out;
}

/** Effect of a taint, or of a toleration that names one. */
export function checkTaintEffect(out: Errors, path: string, effect: string): void {
  if (!effects.includes(effect)) out.push(notSupported(path, effect, effects));
}

/** Taints carry the path metadata.taints: so upstream. */
function checkTaints(out: Errors, taints: readonly Taint[] | undefined): void {
  const seen = new Set<string>();
  eachItem(out, taints, "metadata.taints", (taint, path) => {
    const value = taint.value ?? "";
    checkQualifiedName(out, `${path}.key`, taint.key);
    const wrong = isLabelValue(value);
    if (wrong.length > 0) out.push(invalid(`${path}.value`, value, wrong.join(";")));
    if (empty(taint.effect)) out.push(required(`${path}.effect`));
    else checkTaintEffect(out, `${path}.effect`, taint.effect);
    const pair = JSON.stringify([taint.effect, taint.key]);
    if (seen.has(pair)) {
      const { reason, field, text } = duplicate(path, goTaint(taint));
      out.push({ reason, field, text: `${text}: taints must be unique by key and effect pair` });
    }
    seen.add(pair);
  });
}

function goTaint(taint: Taint): GoText {
  return new GoText(
    `core.Taint{Key:${quote(taint.key)}, Value:${quote(taint.value ?? "")}, Effect:${quote(taint.effect)}, TimeAdded:<nil>}`,
  );
}

function checkNodeResources(out: Errors, object: Node, names: Names): void {
  for (const field of ["capacity", "allocatable"] as const) {
    for (const [name, amount] of object.status[field] ?? []) {
      if (isFull(out)) return;
      checkResourceAmount(out, `status.${field}.${name}`, name, amount, names);
    }
  }
}

function checkPodRanges(out: Errors, ranges: readonly string[]): void {
  const families: string[] = [];
  const shown = goStringList(ranges);
  eachItem(out, ranges, "spec.podCIDRs", (range, path) => {
    const cidr = parseCidr(range);
    if (cidr === undefined) out.push(invalid(path, shown, "must be valid CIDR"));
    else families.push(cidr.family);
  });
  if (ranges.length < 2) return;
  if (families.length < ranges.length) {
    const bad = ranges.find((range) => parseCidr(range) === undefined) ?? "";
    const text = `Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR address: ${bad}`;
    out.push({ reason: "InternalError", field: "spec.podCIDRs", text });
  }
  const dual = families.length === ranges.length && new Set(families).size === 2;
  if (!dual || ranges.length > 2) {
    out.push(invalid("spec.podCIDRs", shown, "may specify no more than one CIDR for each IP family"));
  }
  const seen = new Set<string>();
  eachItem(out, ranges, "spec.podCIDRs", (range, path) => {
    if (seen.has(range)) out.push(duplicate(path, range));
    seen.add(range);
  });
}

function checkNodeAddresses(out: Errors, object: Node): void {
  const seen = new Set<string>();
  eachItem(out, object.status.addresses, "status.addresses", (address, path) => {
    const key = JSON.stringify([address.type, address.address]);
    if (seen.has(key)) {
      const shown = `core.NodeAddress{Type:${quote(address.type)}, Address:${quote(address.address)}}`;
      out.push(duplicate(path, new GoText(shown)));
    }
    seen.add(key);
  });
}

function checkSetOnce(out: Errors, object: Node, old: Node): void {
  const [now, before] = [object.spec.podCIDRs ?? [], old.spec.podCIDRs ?? []];
  const why = 'node updates may not change podCIDR except from "" to valid';
  if (before.length > 0) {
    const changes = now.length === before.length ? before.filter((range, i) => range !== now[i]).length : 1;
    for (let i = 0; i < changes && !isFull(out); i++) out.push(forbiddenField("spec.podCIDRs", why));
  }
  if (!empty(old.spec.providerID) && old.spec.providerID !== object.spec.providerID) {
    out.push(forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid'));
  }
}

/** A source of the node agent's configuration; in a status it names one version of the map. */
function checkConfigSource(out: Errors, path: string, source: NodeConfigSource, inStatus: boolean): void {
  if (source.configMap === undefined) {
    out.push(invalid(path, source, "exactly one reference subfield must be non-nil"));
    return;
  }
  checkConfigMapSource(out, `${path}.configMap`, source.configMap, inStatus);
}

function checkConfigMapSource(out: Errors, path: string, source: ConfigMapNodeConfigSource, inStatus: boolean): void {
  for (const field of ["uid", "resourceVersion"] as const) {
    const set = !empty(source[field]);
    if (inStatus && !set) out.push(required(`${path}.${field}`, `${field} must be set in status`));
    if (!inStatus && set) out.push(forbiddenField(`${path}.${field}`, `${field} must not be set in spec`));
  }
  const check = (field: "namespace" | "name" | "kubeletConfigKey", format: (value: string) => string[]): void => {
    const value = source[field];
    if (value === "") out.push(required(`${path}.${field}`, `${field} must be set`));
    else faults(out, `${path}.${field}`, value, format(value));
  };
  check("namespace", isDns1123Label);
  check("name", isDns1123Subdomain);
  check("kubeletConfigKey", isConfigMapKey);
}
