// A revision in the bytes of its object: the digits of metadata.resourceVersion, between its two quotes.

/** Writes `body` into `bytes` from `at` on, with `digits` put in at `versionAt`. */
export function spliceDigits(bytes: Buffer, at: number, body: Uint8Array, versionAt: number, digits: string): void {
  bytes.set(body.subarray(0, versionAt), at);
  bytes.write(digits, at + versionAt, "latin1");
  bytes.set(body.subarray(versionAt), at + versionAt + digits.length);
}

/** A copy of `body` with the digits of a revision put in at `versionAt`. */
export function withDigits(body: Uint8Array, versionAt: number, revision: number): Buffer {
  const digits = String(revision);
  const bytes = Buffer.allocUnsafe(body.length + digits.length);
  spliceDigits(bytes, 0, body, versionAt, digits);
  return bytes;
}
