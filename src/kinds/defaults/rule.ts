// What a file of defaults lists: the functions of message types, by type name.

/** Fills in one struct in place; the structs below it come after. */
export type DefaultRule = readonly [message: string, apply: (struct: never) => void];

/** A rule of the type `message`, whose shape in memory is T. */
export function rule<T extends object>(message: string, apply: (struct: T) => void): DefaultRule {
  return [message, apply];
}

/** A copy of a map, so that two fields never share one. */
export function copyMap<V>(map: ReadonlyMap<string, V>): Map<string, V> {
  return new Map(map);
}
