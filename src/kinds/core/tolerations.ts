// Tolerations as sets: which one covers another, and what two lists of them come to.
import type { Toleration } from "../../api/gen/core/v1.ts";

/** Whether `wide` tolerates everything `narrow` does (upstream: util/tolerations, isSuperset). */
export function covers(wide: Toleration, narrow: Toleration): boolean {
  if (isSame(wide, narrow)) return true;
  const everyKey = !wide.key && wide.operator === "Exists";
  if (!everyKey && (wide.key ?? "") !== (narrow.key ?? "")) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.effect === "NoExecute" && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) return false;
  }
  if (wide.operator === "Exists") return true;
  const equals = !wide.operator || wide.operator === "Equal";
  return equals && narrow.operator === "Equal" && (wide.value ?? "") === (narrow.value ?? "");
}

/**
 * Both lists as one, in order, without those that another one covers; of equal ones the first stays. Takes time by the
 * square of the length.
 */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [index, toleration] of all.entries()) {
    const redundant =
      merged.some((kept) => covers(kept, toleration)) ||
      all.slice(index + 1).some((later) => !isSame(later, toleration) && covers(later, toleration));
    if (!redundant) merged.push(toleration);
  }
  return merged;
}

/** Whether each of `tolerations` is covered by one of `allowed`; an empty list allows everything. */
export function areAllowed(tolerations: readonly Toleration[], allowed: readonly Toleration[]): boolean {
  return allowed.length === 0 || tolerations.every((one) => allowed.some((wide) => covers(wide, one)));
}

function isSame(a: Toleration, b: Toleration): boolean {
  return (
    (a.key ?? "") === (b.key ?? "") &&
    (a.operator ?? "") === (b.operator ?? "") &&
    (a.value ?? "") === (b.value ?? "") &&
    (a.effect ?? "") === (b.effect ?? "") &&
    a.tolerationSeconds === b.tolerationSeconds
  );
}
