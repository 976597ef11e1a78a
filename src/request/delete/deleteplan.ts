// What a delete makes of an object, decided without I/O: its grace, its finalizers, and the marks it is stored with
// (upstream: rest.BeforeDelete and the finalizers of Store.Delete).
import type { DeleteOptions } from "../../api/gen/meta/v1.ts";
import { type ApiObject, foregroundFinalizer, type ObjectMeta, orphanFinalizer } from "../../api/object.ts";
import type { Strategy, Termination } from "../../kinds/strategy.ts";
import { timeText } from "../commit/objectstore.ts";

/** What becomes of the object: nothing new, removal, or a marked state that is stored (and then removed). */
export type Plan =
  | { readonly outcome: "pending" }
  | { readonly outcome: "remove" }
  | { readonly outcome: "mark"; readonly thenRemove: boolean };

/** Decides, and marks `object` in place where the plan is to store it. `now`: the wall clock, in milliseconds. */
export function planDelete(
  strategy: Strategy<ApiObject>,
  object: ApiObject,
  options: DeleteOptions,
  now: number,
): Plan {
  const { termination } = strategy;
  const meta = object.metadata;
  if (termination !== undefined && (termination.isHeld !== undefined || meta.deletionTimestamp === undefined)) {
    return planTermination(strategy, termination, object, options, now);
  }
  const grace = graceOf(strategy, object, options, now);
  if (grace === "pending") return { outcome: "pending" };
  const finalizers = finalizersFor(strategy, meta, options);
  setFinalizers(meta, finalizers);
  if (grace !== undefined) return { outcome: "mark", thenRemove: grace === 0 && finalizers.length === 0 };
  if (finalizers.length === 0) return { outcome: "remove" };
  markAsDeleting(meta, now);
  return { outcome: "mark", thenRemove: false };
}

/** Whether the object is being deleted already, and this request does not bring its end any nearer. */
export function isPending(strategy: Strategy<ApiObject>, object: ApiObject, options: DeleteOptions): boolean {
  const { termination } = strategy;
  const meta = object.metadata;
  if (meta.deletionTimestamp === undefined) return false;
  if (termination?.isHeld !== undefined) return termination.isHeld(object) || (meta.finalizers ?? []).length > 0;
  if (strategy.gracePeriod === undefined) return false;
  const running = Math.max(Number(meta.deletionGracePeriodSeconds ?? 0), 0);
  const wish = wishOf(options);
  return running > 0 && (wish === undefined || wish >= running);
}

/** The grace asked for; a negative one means one second (upstream). */
function wishOf({ gracePeriodSeconds: asked }: DeleteOptions): number | undefined {
  return asked === undefined ? undefined : Number(asked) < 0 ? 1 : Number(asked);
}

/** Marked first; it goes when its finalizers, its own included, are gone. No grace, and no change of generation. */
function planTermination(
  strategy: Strategy<ApiObject>,
  termination: Termination<ApiObject>,
  object: ApiObject,
  options: DeleteOptions,
  now: number,
): Plan {
  const meta = object.metadata;
  if (meta.deletionTimestamp === undefined) {
    meta.deletionTimestamp = timeText(now);
    termination.begin(object, timeText(now));
    if (termination.isHeld !== undefined) setFinalizers(meta, finalizersFor(strategy, meta, options));
    return { outcome: "mark", thenRemove: false };
  }
  const held = termination.isHeld?.(object) === true || (meta.finalizers ?? []).length > 0;
  return { outcome: held ? "pending" : "remove" };
}

/**
 * Graceful deletion: the seconds the object gets, set on it; undefined for kinds without grace and for objects whose
 * grace is over; "pending" when it is being deleted already and this request does not shorten the wait.
 */
function graceOf(
  strategy: Strategy<ApiObject>,
  object: ApiObject,
  options: DeleteOptions,
  now: number,
): number | "pending" | undefined {
  if (strategy.gracePeriod === undefined) return undefined;
  const meta = object.metadata;
  const wish = wishOf(options);
  if (meta.deletionTimestamp !== undefined) {
    const running = Math.max(Number(meta.deletionGracePeriodSeconds ?? 0), 0);
    if (running === 0) return undefined;
    if (wish === undefined || wish >= running) return "pending";
    meta.deletionTimestamp = timeText(Date.parse(meta.deletionTimestamp) + (wish - running) * 1000);
    meta.deletionGracePeriodSeconds = wish;
    return wish;
  }
  const seconds = strategy.gracePeriod(object, wish);
  if (seconds === undefined) return undefined;
  meta.deletionTimestamp = timeText(now + seconds * 1000);
  meta.deletionGracePeriodSeconds = seconds;
  raiseGeneration(meta);
  return seconds;
}

function markAsDeleting(meta: ObjectMeta, now: number): void {
  if (meta.deletionTimestamp === undefined) raiseGeneration(meta);
  const nowText = timeText(now);
  if (meta.deletionTimestamp === undefined || meta.deletionTimestamp > nowText) meta.deletionTimestamp = nowText;
  meta.deletionGracePeriodSeconds = 0;
}

function raiseGeneration(meta: ObjectMeta): void {
  const { generation } = meta;
  if (generation === undefined || generation <= 0) return;
  meta.generation = typeof generation === "bigint" ? generation + 1n : generation + 1;
}

/** The finalizers the object is to have: the policy of the request, else what is set, else the kind's default. */
function finalizersFor(strategy: Strategy<ApiObject>, meta: ObjectMeta, options: DeleteOptions): string[] {
  const present = meta.finalizers ?? [];
  const others = present.filter((f) => f !== orphanFinalizer && f !== foregroundFinalizer);
  if (strategy.ignoresPropagation === true) return others;
  const policy = policyOf(strategy, present, options);
  const wanted =
    policy === "Orphan"
      ? [...others, orphanFinalizer]
      : policy === "Foreground"
        ? [...others, foregroundFinalizer]
        : others;
  const known = new Set(present);
  const same = wanted.length === present.length && wanted.every((f) => known.has(f));
  return same ? present : wanted;
}

function setFinalizers(meta: ObjectMeta, finalizers: string[]): void {
  if (finalizers.length > 0) meta.finalizers = finalizers;
  else delete meta.finalizers;
}

function policyOf(strategy: Strategy<ApiObject>, present: readonly string[], options: DeleteOptions): string {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? "Orphan" : "Background";
  if (options.propagationPolicy !== undefined) return options.propagationPolicy;
  const set = present.find((f) => f === orphanFinalizer || f === foregroundFinalizer);
  if (set !== undefined) return set === orphanFinalizer ? "Orphan" : "Foreground";
  return strategy.defaultOrphan === true ? "Orphan" : "Background";
}
