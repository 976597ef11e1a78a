// Base64 as Go's standard encoding reads it: padded, line breaks ignored, anything else refused with the place.
import { Fault } from "./fault.ts";

/** The canonical base64 of a text that is base64, or Go's fault. */
export function canonicalBase64(text: string): string | Fault {
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?$/.test(text)) return text;
  const at = corruptAt(Buffer.from(text));
  if (at >= 0) return new Fault(`illegal base64 data at input byte ${at}`);
  return Buffer.from(text, "base64").toString("base64");
}

const padding = 61;

function isBreak(byte: number | undefined): boolean {
  return byte === 10 || byte === 13;
}

/** Offset Go reports for bytes that are no base64, -1 for those that are. */
function corruptAt(bytes: Uint8Array): number {
  let at = 0;
  for (;;) {
    // One group of four digits.
    for (let place = 0; place < 4; place += 1) {
      while (isBreak(bytes[at])) at += 1;
      const byte = bytes[at];
      if (byte === undefined) return place === 0 ? -1 : at - place;
      at += 1;
      if (isDigit(byte)) continue;
      if (byte !== padding || place < 2) return at - 1;
      return corruptPadding(bytes, at, place);
    }
  }
}

/** The same after the first padding character, which stood at `place` of its group. */
function corruptPadding(bytes: Uint8Array, from: number, place: number): number {
  let at = from;
  if (place === 2) {
    while (isBreak(bytes[at])) at += 1;
    if (at === bytes.length) return at;
    if (bytes[at] !== padding) return at - 1;
    at += 1;
  }
  while (isBreak(bytes[at])) at += 1;
  return at < bytes.length ? at : -1;
}

function isDigit(byte: number): boolean {
  return (
    (byte >= 65 && byte <= 90) ||
    (byte >= 97 && byte <= 122) ||
    (byte >= 48 && byte <= 57) ||
    byte === 43 ||
    byte === 47
  );
}
