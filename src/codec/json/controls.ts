// Characters below the blank, which JSON has between values only: a text without any has no line ends and no tabs either.

/** Whether any byte is below that of the blank. Four at a time: a body is looked at in a microsecond. @hot. */
export function hasControls(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, length } = bytes;
  const words = byteOffset % 4 === 0 ? length >> 2 : 0;
  if (words > 0) {
    const view = new Int32Array(buffer, byteOffset, words);
    for (let index = 0; index < words; index += 1) {
      const word = view[index] as number;
      // A byte below 0x20 borrows from its top bit, which was not set.
      if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return true;
    }
  }
  for (let index = words * 4; index < length; index += 1) if ((bytes[index] as number) < 0x20) return true;
  return false;
}
