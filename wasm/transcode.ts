// From JSON our encoder wrote to protobuf, as code that is compiled ahead (AssemblyScript): it is as fast in the first
// second of a server as later, and takes less than half of the same in JavaScript. src/codec/proto/transcode.ts fills the
// memory and reads the result; what the passes and their numbers mean is said there.
import { hasSeenBeyondAscii } from "./escapes";
import { inputAt, inputBytes, outputEnd, tablesAt } from "./memory";
import { read } from "./read";
import { write } from "./write";

/** The address of the input region. */
export function input(): usize {
  return inputAt;
}

/** Bytes a document may have. */
export function inputMax(): usize {
  return inputBytes;
}

/** The address behind a result. */
export function end(): usize {
  return outputEnd;
}

/** The address of the tables. */
export function tables(): usize {
  return tablesAt;
}

/**
 * Transcodes the `length` bytes of the input by the way at `way`; with `isHead` not 0 up to the last field of that way.
 * The length of the result; -1: it is not to be had in this way; below that: minus the address of a cell that is to be
 * filled before the same input is tried again.
 */
export function transcode(way: usize, length: i32, isHead: i32): i32 {
  hasSeenBeyondAscii();
  const root = read(way, length, isHead !== 0);
  return root < 0 ? root : write(way, root);
}

/** 1: the last input may have bytes beyond ASCII, and must be UTF-8. */
export function beyondAscii(): i32 {
  return hasSeenBeyondAscii() ? 1 : 0;
}
