// Texts that are kept: one that was cut out of a larger one would keep all of that in memory.

/** V8 copies what is cut out up to this length by itself. */
const copiedMax = 12;

/** A copy of a text that shares nothing with the one it was cut out of. */
export function flatText(text: string): string {
  return text.length <= copiedMax ? text : Buffer.from(text).toString();
}
