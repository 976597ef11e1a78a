// Values that may be absent.
import { type Overload, overload } from "./overloads.ts";
import { type CelValue, Fault, ListValue, MapValue, none, Optional, Uint } from "./values.ts";

/** Whether a value is what a field holds that was not set. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === "") return true;
  if (value instanceof Uint) return value.value === 0n;
  return (value instanceof ListValue || value instanceof MapValue) && value.size === 0;
}

/** The library of optional values, but for what needs expressions. */
export const optionalFunctions: readonly Overload[] = [
  overload("@optional.of(A): optional<A>", (_, value: CelValue) => new Optional(value)),
  overload("@optional.ofNonZeroValue(A): optional<A>", (_, value: CelValue) =>
    isZero(value) ? none : new Optional(value),
  ),
  overload("@optional.none(): optional<A>", () => none),
  overload("optional<A>.hasValue(): bool", (_, { value }: Optional) => value !== undefined),
  overload("optional<A>.value(): A", (_, { value }: Optional) =>
    value === undefined ? new Fault("optional.none() dereference") : value,
  ),
];
