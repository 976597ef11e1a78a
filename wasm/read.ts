// The first pass: notes where the values of a document are.
import { decoded } from "./base64";
import { textEnd, unescaped } from "./escapes";
import { isCanonical } from "./host";
import {
  cardinalityList,
  cardinalityOf,
  cardinalityOne,
  dropsZero,
  endOf,
  flagsOf,
  inputAt,
  isMicro,
  node,
  nodesAt,
  numbersMax,
  setEnd,
  setNode,
  shapeBool,
  shapeBytes,
  shapeInt,
  shapeIntOrString,
  shapeMessage,
  shapeOf,
  shapeQuantity,
  shapeRaw,
  shapeString,
  shapeTime,
  shapeUnion,
  stepBytes,
  stepCell,
  stepKey,
  stepKeyBytes,
  stepMax,
  stepMin,
  stepNext,
  wayFirst,
  wayStepCount,
  waySteps,
} from "./memory";
import { rawEnd } from "./raw";
import { microLength, plainLength, secondsAt } from "./time";

/** Messages in each other at most; deeper documents are left alone. */
const depthMax: i32 = 500;

let at: usize = 0;
let used: i32 = 1;
let failed: bool = false;
let depth: i32 = 0;
/** The cell of a message that is needed and has no way yet. */
let missing: usize = 0;
/** The document ends for this pass behind the last field of its way. */
let endsEarly: bool = false;

/**
 * Notes the document of `length` bytes in the input, or with `isHead` its first fields, up to the last one of the way.
 * Its node; -1: it is not to be had in this way; below that: minus the address of a cell that is to be filled before the
 * same input is tried again.
 */
export function read(way: usize, length: i32, isHead: bool): i32 {
  const last = inputAt + <usize>length;
  // No text, key or number goes on behind the input.
  v128.store(last, i8x16.splat(0));
  v128.store(last + 16, i8x16.splat(0));
  at = inputAt;
  used = 1;
  failed = false;
  depth = 0;
  missing = 0;
  endsEarly = isHead;
  const root = readMessage(way);
  if (missing !== 0) return -(<i32>missing);
  return failed || (at !== last && !isHead) ? -1 : root;
}

function fail(): i32 {
  failed = true;
  return 0;
}

/** Room for so many numbers, all of them 0. */
function reserve(count: i32): i32 {
  const from = used;
  if (from + count > numbersMax) return fail();
  memory.fill(nodesAt + ((<usize>from) << 2), 0, (<usize>count) << 2);
  used = from + count;
  return from;
}

/** The way of a message; 0: there is none, or none yet, and the pass is over. */
function wayOf(cell: usize): usize {
  const way = <usize>load<u32>(cell);
  if (way > 1) return way;
  if (way === 0) missing = cell;
  failed = true;
  return 0;
}

/** Notes a message; returns its node. */
function readMessage(way: usize): i32 {
  depth += 1;
  const from = reserve(load<i32>(way + wayStepCount));
  if (failed || depth > depthMax || load<u8>(at) !== 0x7b) return fail();
  at += 1;
  if (load<u8>(at) === 0x7d) {
    at += 1;
    depth -= 1;
    return from;
  }
  let order: i32 = -1;
  while (!failed) {
    const isOver = endsEarly && depth === 1 && order + 1 === load<i32>(way + wayStepCount);
    order = nextStep(way, order);
    if (order < 0 && isOver) return from;
    if (order < 0) break;
    readField(<usize>load<u32>(way + waySteps) + <usize>order * stepBytes, from + order);
    const after = load<u8>(at);
    at += 1;
    if (after === 0x7d) {
      depth -= 1;
      return from;
    }
    if (after !== 0x2c) break;
  }
  return fail();
}

/** Reads a key: most often it is the one that followed the last time. In any other order a field could come twice. */
function nextStep(way: usize, before: i32): i32 {
  if (load<u8>(at) !== 0x22) return -1;
  at += 1;
  const steps = <usize>load<u32>(way + waySteps);
  const count = load<i32>(way + wayStepCount);
  const guessAt = before < 0 ? way + wayFirst : steps + <usize>before * stepBytes + stepNext;
  const guess = load<i32>(guessAt);
  if (guess < count && isKey(steps + <usize>guess * stepBytes)) return guess;
  for (let order = before + 1; order < count; order += 1) {
    if (!isKey(steps + <usize>order * stepBytes)) continue;
    store<i32>(guessAt, order);
    return order;
  }
  return -1;
}

/** Whether the key of a field is next, which is `name":`; then it is gone behind. Two blocks may overlap. */
function isKey(step: usize): bool {
  const key = <usize>load<u32>(step + stepKey);
  const length = <usize>load<u32>(step + stepKeyBytes);
  if (length >= 8) {
    let from: usize = 0;
    for (; from + 8 <= length; from += 8) if (load<u64>(at + from) !== load<u64>(key + from)) return false;
    if (load<u64>(at + length - 8) !== load<u64>(key + length - 8)) return false;
  } else if (length >= 4) {
    if (load<u32>(at) !== load<u32>(key) || load<u32>(at + length - 4) !== load<u32>(key + length - 4)) return false;
  } else {
    for (let from: usize = 0; from < length; from += 1) if (load<u8>(at + from) !== load<u8>(key + from)) return false;
  }
  at += length;
  return true;
}

function readField(step: usize, place: i32): void {
  const shape = <i32>load<u8>(step + shapeOf);
  const cardinality = <i32>load<u8>(step + cardinalityOf);
  if (load<u8>(at) === 0x6e) {
    // null is as good as absent, but in types that have a form of their own.
    if (shape === shapeUnion || load<u32>(at) !== 0x6c6c756e) fail();
    at += 4;
  } else if (cardinality === cardinalityOne) {
    const value = readOne(step, place);
    const isNone =
      shape === shapeBytes && (load<u8>(step + flagsOf) & dropsZero) !== 0 && endOf(place) === <usize>value;
    setNode(place, isNone ? 0 : value);
  } else if (cardinality === cardinalityList) {
    readList(step, place);
  } else {
    readMap(step, place);
  }
}

/** An item: the one before, its value. */
function readList(step: usize, place: i32): void {
  if (load<u8>(at) !== 0x5b) {
    fail();
    return;
  }
  at += 1;
  if (load<u8>(at) === 0x5d) {
    at += 1;
    return;
  }
  let last: i32 = 0;
  while (!failed) {
    const item = reserve(2);
    if (failed) return;
    setNode(item, last);
    setNode(item + 1, readOne(step, item + 1));
    last = item;
    const after = load<u8>(at);
    at += 1;
    if (after === 0x5d) {
      setNode(place, last);
      return;
    }
    if (after !== 0x2c) fail();
  }
}

/** An entry: the one before, its value, its key. */
function readMap(step: usize, place: i32): void {
  if (load<u8>(at) !== 0x7b) {
    fail();
    return;
  }
  at += 1;
  if (load<u8>(at) === 0x7d) {
    at += 1;
    return;
  }
  let last: i32 = 0;
  while (!failed) {
    const entry = reserve(3);
    if (failed) return;
    setNode(entry, last);
    setNode(entry + 2, readText(entry + 2));
    // Keys stand in the order of their bytes, each once.
    if (last !== 0 && !failed && !isAfter(entry + 2, last + 2)) fail();
    if (load<u8>(at) !== 0x3a) fail();
    if (failed) return;
    at += 1;
    setNode(entry + 1, readOne(step, entry + 1));
    last = entry;
    const after = load<u8>(at);
    at += 1;
    if (after === 0x7d) {
      setNode(place, last);
      return;
    }
    if (after !== 0x2c) fail();
  }
}

/** Whether the text at one place is greater than the one at another. */
function isAfter(place: i32, before: i32): bool {
  const a = <usize>node(place);
  const b = <usize>node(before);
  const aBytes = endOf(place) - a;
  const bBytes = endOf(before) - b;
  const common = min(aBytes, bBytes);
  for (let index: usize = 0; index < common; index += 1) {
    const difference = <i32>load<u8>(a + index) - <i32>load<u8>(b + index);
    if (difference !== 0) return difference > 0;
  }
  return aBytes > bBytes;
}

/** Notes a value that is not null: where it begins, or its node. */
function readOne(step: usize, place: i32): i32 {
  switch (<i32>load<u8>(step + shapeOf)) {
    case shapeString:
      return readText(place);
    case shapeMessage: {
      const way = wayOf(<usize>load<u32>(step + stepCell));
      return way === 0 ? 0 : readMessage(way);
    }
    case shapeInt:
      return readInt(place, load<i64>(step + stepMin), load<i64>(step + stepMax));
    case shapeBool:
      return readBool();
    case shapeQuantity:
      return readQuantity(place);
    case shapeIntOrString:
      return load<u8>(at) === 0x22 ? readText(place) : readInt(place, i32.MIN_VALUE, i32.MAX_VALUE);
    case shapeTime:
      return readTime(place, (load<u8>(step + flagsOf) & isMicro) !== 0 ? microLength : plainLength);
    case shapeBytes:
      return readBytes(place);
    case shapeRaw:
      return readRaw(place);
    default:
      return fail();
  }
}

/** Notes a text. What is escaped in it is replaced where it stands: it becomes shorter. */
function readText(place: i32): i32 {
  if (load<u8>(at) !== 0x22) return fail();
  const start = at + 1;
  let from = textEnd(start);
  let to = from;
  while (load<u8>(from) === 0x5c) {
    const length: usize = load<u8>(from + 1) === 0x75 ? 6 : 2;
    to = unescaped(from, to);
    if (to === 0) return fail();
    from += length;
    const next = textEnd(from);
    memory.copy(to, from, next - from);
    to += next - from;
    from = next;
  }
  if (load<u8>(from) !== 0x22) return fail();
  at = from + 1;
  setEnd(place, to);
  return <i32>start;
}

/** Longer numbers are left alone: decode may not have them exactly. */
const digitsMax: usize = 15;

function readInt(place: i32, least: i64, greatest: i64): i32 {
  const start = at;
  const isNegative = load<u8>(start) === 0x2d;
  const first = isNegative ? start + 1 : start;
  let from = first;
  let value: i64 = 0;
  while (true) {
    const digit = <i32>load<u8>(from) - 0x30;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + <i64>digit;
    from += 1;
  }
  const digits = from - first;
  if (digits === 0 || digits > digitsMax || (digits > 1 && load<u8>(first) === 0x30)) return fail();
  if (isNegative) value = -value;
  if (value < least || value > greatest) return fail();
  at = from;
  setEnd(place, from);
  return <i32>start;
}

function readBool(): i32 {
  const start = at;
  if (load<u32>(start) === 0x65757274) at = start + 4;
  else if (load<u8>(start) === 0x66 && load<u32>(start + 1) === 0x65736c61) at = start + 5;
  else return fail();
  return <i32>start;
}

function readQuantity(place: i32): i32 {
  const start = readText(place);
  if (failed) return 0;
  const last = endOf(place);
  return isPlainQuantity(<usize>start, last) || isCanonical(start, <i32>last) !== 0 ? start : fail();
}

/** `0`, or up to three digits and one of the usual suffixes: canonical as it is (src/api/quantity.ts). */
function isPlainQuantity(start: usize, last: usize): bool {
  if (last === start) return false;
  if (load<u8>(start) === 0x30) return last - start === 1;
  let from = start;
  while (from < last && from - start < 3 && load<u8>(from) >= 0x30 && load<u8>(from) <= 0x39) from += 1;
  if (from === start) return false;
  if (last === from) return true;
  const suffix = load<u8>(from);
  if (last - from === 2) return isBinary(suffix) && load<u8>(from + 1) === 0x69;
  return last - from === 1 && isDecimal(suffix);
}

/** One of KMGT. */
function isBinary(byte: u8): bool {
  return byte === 0x4b || byte === 0x4d || byte === 0x47 || byte === 0x54;
}

/** One of munkMGTPE. */
function isDecimal(byte: u8): bool {
  const isSmall = byte === 0x6d || byte === 0x75 || byte === 0x6e || byte === 0x6b;
  return isSmall || byte === 0x4d || byte === 0x47 || byte === 0x54 || byte === 0x50 || byte === 0x45;
}

function readTime(place: i32, length: usize): i32 {
  const start = readText(place);
  const last = endOf(place);
  if (failed || last - <usize>start !== length || secondsAt(<usize>start, length) < 0) return fail();
  return start;
}

/** Notes base64 in its canonical form, decoded where it stands. */
function readBytes(place: i32): i32 {
  const start = readText(place);
  const last = failed ? 0 : decoded(<usize>start, endOf(place));
  if (last === 0) return fail();
  setEnd(place, last);
  return start;
}

/** Notes raw JSON. */
function readRaw(place: i32): i32 {
  const start = at;
  const last = rawEnd(start);
  if (last === 0) return fail();
  at = last;
  setEnd(place, last);
  return <i32>start;
}
