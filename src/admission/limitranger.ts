// LimitRanger: a namespace's limit ranges complete what pods ask for, and bound what pods and claims may ask for.
// Comparisons are made in thousandths where every number of one fits, else in whole units (upstream).
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  ResourceRequirements,
} from "../api/gen/core/v1.ts";
import { compareBytes } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import {
  canonical,
  compareQuantities,
  integerValue,
  milliValue,
  parseQuantity,
  type Quantity,
  quantityOf,
} from "../api/quantity.ts";
import type { Status } from "../api/status.ts";
import type { ObjectTable } from "../cache/view/objects.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

type Range = ApiObject & LimitRange;
type Amounts = ReadonlyMap<string, Quantity>;

/** Builds the plugin. */
export function limitRanger({ objects, identity }: Environment): AdmissionPlugin {
  const ranges = objects.table<Range>("", "v1", "limitranges");
  const annotation = identity.spell("kubernetes.io/limit-ranger");
  return {
    mutate(attributes) {
      if (!isNewPod(attributes)) return undefined;
      const pod = attributes.object as ApiObject & Pod;
      for (const { spec } of rangesOf(ranges, attributes.namespace)) {
        const set = complete(pod.spec, spec?.limits ?? []);
        if (set.length === 0) continue;
        pod.metadata.annotations ??= new Map();
        pod.metadata.annotations.set(annotation, `LimitRanger plugin set: ${set.join("; ")}`);
      }
      return undefined;
    },
    validate(attributes) {
      const isPod = isNewPod(attributes);
      if (!isPod && !isClaim(attributes)) return undefined;
      if (attributes.old?.metadata.deletionTimestamp !== undefined) return undefined;
      for (const { spec } of rangesOf(ranges, attributes.namespace)) {
        const limits = spec?.limits ?? [];
        const found = isPod
          ? checkPod(limits, (attributes.object as ApiObject & Pod).spec)
          : checkClaim(limits, attributes.object as ApiObject & PersistentVolumeClaim);
        if (found.length > 0) return refusal(attributes, found);
      }
      return undefined;
    },
  };
}

/** What containers ask for cannot be changed later: updates of pods are not looked at. */
function isNewPod(attributes: Attributes): boolean {
  const { operation, subresource } = attributes;
  return operation === "create" && subresource === "" && isAbout(attributes, "", "pods");
}

function isClaim(attributes: Attributes): boolean {
  const { operation, subresource } = attributes;
  if (subresource !== "" || (operation !== "create" && operation !== "update")) return false;
  return isAbout(attributes, "", "persistentvolumeclaims");
}

/** Upstream takes them in no order; by name, two servers say the same. */
function rangesOf(ranges: ObjectTable<Range>, namespace: string): readonly Range[] {
  const found = ranges.list(namespace);
  if (found.length < 2) return found;
  return found.sort((a, b) => compareBytes(a.metadata.name ?? "", b.metadata.name ?? ""));
}

function refusal(attributes: Attributes, found: readonly string[]): Status {
  const texts = [...new Set(found)];
  return forbid(attributes, texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`);
}

/** Fills in what containers leave open. Says what it set, in the words of the annotation. */
function complete(spec: PodSpec, items: readonly LimitRangeItem[]): string[] {
  const [limits, requests] = [new Map<string, string>(), new Map<string, string>()];
  for (const item of items) {
    if (item.type !== "Container") continue;
    for (const [name, amount] of item.default ?? []) limits.set(name, amount);
    for (const [name, amount] of item.defaultRequest ?? []) requests.set(name, amount);
  }
  const said: string[] = [];
  if (limits.size === 0 && requests.size === 0) return said;
  const fill = (word: string, container: Container): void => {
    const { resources } = container;
    const [ownRequests, setRequests] = filled(resources.requests, requests);
    const [ownLimits, setLimits] = filled(resources.limits, limits);
    if (setRequests.length > 0) said.push(`${setRequests.join(", ")} request for ${word} ${container.name}`);
    if (setLimits.length > 0) said.push(`${setLimits.join(", ")} limit for ${word} ${container.name}`);
    resources.requests = ownRequests;
    resources.limits = ownLimits;
  };
  for (const container of spec.containers ?? []) fill("container", container);
  for (const container of spec.initContainers ?? []) fill("init container", container);
  return said;
}

/** `own` with what it lacks, and the names of that, sorted. */
function filled(
  own: Map<string, string> | undefined,
  defaults: ReadonlyMap<string, string>,
): readonly [amounts: Map<string, string> | undefined, set: string[]] {
  const set = [...defaults.keys()].filter((name) => own?.has(name) !== true).sort(compareBytes);
  if (set.length === 0) return [own, set];
  const amounts = new Map(own);
  for (const name of set) amounts.set(name, defaults.get(name) ?? "");
  return [amounts, set];
}

function checkPod(items: readonly LimitRangeItem[], spec: PodSpec): string[] {
  const found: string[] = [];
  for (const item of items) {
    if (item.type === "Container") {
      for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
        check(found, item, amountsOf(resources.requests), amountsOf(resources.limits));
      }
    } else if (item.type === "Pod") check(found, item, total(spec, "requests"), total(spec, "limits"));
  }
  return found;
}

function checkClaim(items: readonly LimitRangeItem[], { spec }: PersistentVolumeClaim): string[] {
  const found: string[] = [];
  const requests = amountsOf(spec.resources.requests);
  const none: Amounts = new Map();
  for (const item of items) {
    if (item.type !== "PersistentVolumeClaim") continue;
    for (const [name, bound] of sorted(item.min)) tell(found, belowMin(item.type, name, bound, requests, none));
    for (const [name, bound] of sorted(item.max)) {
      const [limit, request] = [amountOf(bound), requests.get(name)];
      const of = `maximum ${name} usage per ${item.type} is ${bound}`;
      if (request === undefined) found.push(`${of}.  No request is specified`);
      else if (isMore(request, limit)) found.push(`${of}, but request is ${canonical(request)}`);
    }
  }
  return found;
}

function check(found: string[], item: LimitRangeItem, requests: Amounts, limits: Amounts): void {
  for (const [name, bound] of sorted(item.min)) tell(found, belowMin(item.type, name, bound, requests, limits));
  for (const [name, bound] of sorted(item.max)) tell(found, aboveMax(item.type, name, bound, requests, limits));
  for (const [name, bound] of sorted(item.maxLimitRequestRatio)) {
    tell(found, aboveRatio(item.type, name, bound, requests.get(name), limits.get(name)));
  }
}

function tell(found: string[], fault: string | undefined): void {
  if (fault !== undefined) found.push(fault);
}

function belowMin(type: string, name: string, bound: string, requests: Amounts, limits: Amounts): string | undefined {
  const [min, request, limit] = [amountOf(bound), requests.get(name), limits.get(name)];
  const of = `minimum ${name} usage per ${type} is ${bound}`;
  if (request === undefined) return `${of}.  No request is specified`;
  if (isMore(min, request, limit)) return `${of}, but request is ${canonical(request)}`;
  return limit !== undefined && isMore(min, limit, request) ? `${of}, but limit is ${canonical(limit)}` : undefined;
}

function aboveMax(type: string, name: string, bound: string, requests: Amounts, limits: Amounts): string | undefined {
  const [max, request, limit] = [amountOf(bound), requests.get(name), limits.get(name)];
  const of = `maximum ${name} usage per ${type} is ${bound}`;
  if (limit === undefined) return `${of}.  No limit is specified`;
  if (isMore(limit, max, request)) return `${of}, but limit is ${canonical(limit)}`;
  return request !== undefined && isMore(request, max, limit)
    ? `${of}, but request is ${canonical(request)}`
    : undefined;
}

function aboveRatio(
  type: string,
  name: string,
  bound: string,
  request: Quantity | undefined,
  limit: Quantity | undefined,
): string | undefined {
  const of = `${name} max limit to request ratio per ${type} is ${bound}`;
  const max = amountOf(bound);
  const inMilli = fitsMilli(request, limit, max);
  const value = (quantity: Quantity | undefined): number =>
    quantity === undefined ? 0 : Number(inMilli ? milliValue(quantity) : integerValue(quantity));
  if (value(request) === 0) return `${of}, but no request is specified or request is 0`;
  if (value(limit) === 0) return `${of}, but no limit is specified or limit is 0`;
  const ratio = value(limit) / value(request);
  const [seen, allowed] = fitsMilli(max) ? [ratio * 1000, Number(milliValue(max))] : [ratio, Number(integerValue(max))];
  return seen > allowed ? `${of}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}

/** Whole units beyond which thousandths do not fit an int64. */
const milliMax = (2n ** 63n - 1n) / 1000n;

function fitsMilli(...quantities: readonly (Quantity | undefined)[]): boolean {
  return quantities.every((quantity) => quantity === undefined || integerValue(quantity) <= milliMax);
}

/** Whether `a` is more than `b`, as far as the numbers compared together are looked at. */
function isMore(a: Quantity, b: Quantity, third?: Quantity): boolean {
  return fitsMilli(a, b, third) ? milliValue(a) > milliValue(b) : integerValue(a) > integerValue(b);
}

/**
 * What the containers of a pod come to: the sum where each of them says something, and not less than any init
 * container.
 */
function total(spec: PodSpec, side: keyof ResourceRequirements): Amounts {
  const containers = (spec.containers ?? []).map(({ resources }) => amountsOf(resources[side]));
  const sums = new Map<string, Quantity>();
  for (const name of containers[0]?.keys() ?? []) {
    const amounts = containers.map((amount) => amount.get(name));
    if (amounts.some((amount) => amount === undefined)) continue;
    const inMilli = name === "cpu";
    let sum = 0n;
    for (const amount of amounts as Quantity[]) sum += inMilli ? milliValue(amount) : integerValue(amount);
    sums.set(name, inMilli ? { unscaled: sum, scale: -3, format: "DecimalSI" } : quantityOf(sum, "DecimalSI"));
  }
  for (const { resources } of spec.initContainers ?? []) {
    for (const [name, amount] of amountsOf(resources[side])) {
      const sum = sums.get(name);
      if (sum === undefined || compareQuantities(amount, sum) > 0) sums.set(name, amount);
    }
  }
  return sums;
}

function amountsOf(texts: ReadonlyMap<string, string> | undefined): Amounts {
  return new Map([...(texts ?? [])].map(([name, text]) => [name, amountOf(text)]));
}

function amountOf(text: string): Quantity {
  return parseQuantity(text) ?? quantityOf(0n, "DecimalSI");
}

function sorted(texts: ReadonlyMap<string, string> | undefined): [string, string][] {
  return [...(texts ?? [])].sort(([a], [b]) => compareBytes(a, b));
}
