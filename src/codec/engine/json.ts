// JSON on both sides of the type engine: bytes to Value, Value to a typed object and back to bytes.

export { Fault, isFault, TooManyValues } from "../json/fault.ts";
export { parseJson, parseOwn, parseText, textOf } from "../json/scan.ts";
export { compareBytes, quote, writeValue } from "../json/write.ts";
export { decode } from "./decode.ts";
export { toValue } from "./document.ts";
export { encode, encodeForStore } from "./encode.ts";
export { zeroOf } from "./zero.ts";
