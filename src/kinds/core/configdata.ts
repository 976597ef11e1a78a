// Data of config maps and secrets: its size, and what `immutable` compares.

/** Bytes of all values of a config map or secret. */
export const valueBytesMax = 1024 * 1024;
/** Texts, or base64 of bytes, which may be null (codec/nullbytes.ts). */
export type Bag = ReadonlyMap<string, string | null>;

/** What a change of immutable data is told. */
export const frozen = "field is immutable when `immutable` is set";

/** Size of what a base64 text stands for. */
export function decodedBytes(base64: string | null): number {
  if (base64 === null) return 0;
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.max(0, (base64.length * 3) / 4 - padding);
}

/** Exact equality: an absent bag differs from an empty one, and so do their values. */
export function sameBag(a: Bag | undefined, b: Bag | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}
