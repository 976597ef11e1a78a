// Several things at a time, of many.

/** Works on all items in their order, on at most `most` of them at a time. Rejects with the first error of `work`. */
export async function severalAtOnce<T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const each = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: most }, each));
}
