// Long strings of JSON by native code, which reads and writes a text of many escapes in a fifth of the time.
// Only strings: documents are not parsed natively, because keys and numbers have rules of their own.

/** Strings shorter than this are not worth the call. */
export const nativeMin = 256;

/** Surrogates without their other half; Go reads and writes them as U+FFFD. */
export const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const anyLone = /\p{Surrogate}/u;

/** The text of a JSON string, quotes included; undefined where it has a fault. */
export function readQuoted(json: string): string | undefined {
  let value: string;
  try {
    value = JSON.parse(json) as string;
  } catch {
    return undefined;
  }
  return anyLone.test(value) ? value.replace(loneSurrogate, "\ufffd") : value;
}
