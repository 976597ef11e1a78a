// JSON on both sides of the type engine: bytes to Value, Value to a typed object and back to bytes.

export { decode } from "./decode.ts";
export { toValue } from "./document.ts";
export { encode, encodeForStore } from "./encode.ts";
export { Fault, isFault, TooManyValues } from "./fault.ts";
export { parseJson, parseOwn, parseText, textOf } from "./scan.ts";
export { compareBytes, quote, writeValue } from "./write.ts";
export { zeroOf } from "./zero.ts";
