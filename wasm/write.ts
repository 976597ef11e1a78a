// The second pass: writes messages from their end.
import {
  cardinalityList,
  cardinalityOf,
  cardinalityOne,
  endOf,
  node,
  outputAt,
  outputEnd,
  shapeBool,
  shapeBytes,
  shapeInt,
  shapeIntOrString,
  shapeMessage,
  shapeOf,
  shapeString,
  shapeTime,
  wayWireCount,
  wayWires,
  wireBytes,
  wireCell,
  wireInlined,
  wireInlinedCount,
  wireKey,
  wireOrder,
  wireZero,
  wireZeroBytes,
} from "./memory";
import { microLength, secondsAt } from "./time";

let out: usize = outputEnd;
let failed: bool = false;

/** Writes the message at `root` by its way. Its length, up to the end of the output; -1: it does not fit there. */
export function write(way: usize, root: i32): i32 {
  out = outputEnd;
  failed = false;
  writeMessage(load<u32>(way + wayWires), load<i32>(way + wayWireCount), root);
  return failed ? -1 : <i32>(outputEnd - out);
}

/** Makes room for `count` bytes before what was written. */
function room(count: usize): usize {
  // Blocks are written from before the first byte.
  if (out - outputAt < count + 16) {
    failed = true;
    out = outputEnd;
    return outputAt + 64;
  }
  out -= count;
  return out;
}

function varint(value: u64): void {
  if (value < 0x80) {
    store<u8>(room(1), <u8>value);
    return;
  }
  const size = <usize>((70 - clz(value)) / 7);
  let to = room(size);
  let rest = value;
  while (rest >= 0x80) {
    store<u8>(to, <u8>(rest | 0x80));
    rest >>= 7;
    to += 1;
  }
  store<u8>(to, <u8>rest);
}

/** Puts bytes before what was written; blocks of 16, of which the first one may begin before them. */
function bytes(from: usize, count: usize): void {
  const to = room(count);
  if (failed) return;
  if (count > 256) {
    memory.copy(to, from, count);
    return;
  }
  for (let left = <i32>count; left > 0; left -= 16) {
    v128.store(to + <usize>(left - 16), v128.load(from + <usize>(left - 16)));
  }
}

/** A text and its length. */
function text(place: i32): void {
  const start = <usize>node(place);
  const count = endOf(place) - start;
  bytes(start, count);
  varint(count);
}

function writeMessage(wires: usize, count: i32, from: i32): void {
  const last = wires + <usize>count * wireBytes;
  for (let wire = wires; wire < last; wire += wireBytes) {
    const order = load<i32>(wire + wireOrder);
    const key = <u64>load<u32>(wire + wireKey);
    if (order < 0) {
      const before = out;
      writeMessage(load<u32>(wire + wireInlined), load<i32>(wire + wireInlinedCount), from);
      varint(before - out);
      varint(key);
      continue;
    }
    const place = from + order;
    const value = node(place);
    if (value === 0) {
      const zeros = <usize>load<u32>(wire + wireZeroBytes);
      if (zeros !== 0) bytes(load<u32>(wire + wireZero), zeros);
      continue;
    }
    const cardinality = <i32>load<u8>(wire + cardinalityOf);
    if (cardinality === cardinalityOne) {
      writeOne(wire, place);
      varint(key);
    } else if (cardinality === cardinalityList) {
      for (let item = value; item !== 0; item = node(item)) {
        writeOne(wire, item + 1);
        varint(key);
      }
    } else {
      for (let entry = value; entry !== 0; entry = node(entry)) writeEntry(wire, entry);
    }
  }
}

/** An entry of a map: key (1) and value (2). */
function writeEntry(wire: usize, entry: i32): void {
  const shape = <i32>load<u8>(wire + shapeOf);
  const before = out;
  writeOne(wire, entry + 1);
  varint(shape === shapeBool || shape === shapeInt ? 16 : 18);
  text(entry + 2);
  varint(10);
  varint(before - out);
  varint(<u64>load<u32>(wire + wireKey));
}

function writeOne(wire: usize, place: i32): void {
  const start = node(place);
  switch (<i32>load<u8>(wire + shapeOf)) {
    case shapeString:
    case shapeBytes:
      text(place);
      return;
    case shapeMessage: {
      const way = <usize>load<u32>(<usize>load<u32>(wire + wireCell));
      const before = out;
      writeMessage(load<u32>(way + wayWires), load<i32>(way + wayWireCount), start);
      varint(before - out);
      return;
    }
    case shapeInt:
      varint(<u64>intAt(start, endOf(place)));
      return;
    case shapeBool:
      varint(load<u8>(start) === 0x74 ? 1 : 0);
      return;
    case shapeTime:
      writeTime(start, endOf(place));
      return;
    case shapeIntOrString:
      writeIntOrString(place);
      return;
    default: {
      // A message of one text: a quantity or raw JSON.
      const before = out;
      text(place);
      varint(10);
      varint(before - out);
    }
  }
}

/** seconds (1) and nanos (2). */
function writeTime(start: usize, last: usize): void {
  const length = last - start;
  const before = out;
  varint(length === microLength ? <u64>intAt(last - 7, last - 1) * 1000 : 0);
  varint(16);
  varint(<u64>secondsAt(start, length));
  varint(8);
  varint(before - out);
}

/** type (1), intVal (2) and strVal (3), all of them always. */
function writeIntOrString(place: i32): void {
  const start = <usize>node(place);
  const isText = load<u8>(start - 1) === 0x22;
  const before = out;
  if (isText) text(place);
  else varint(0);
  varint(26);
  varint(isText ? 0 : <u64>intAt(start, endOf(place)));
  varint(16);
  varint(isText ? 1 : 0);
  varint(8);
  varint(before - out);
}

/** A number; the first pass found that it is one. */
function intAt(start: usize, last: usize): i64 {
  const isNegative = load<u8>(start) === 0x2d;
  let value: i64 = 0;
  for (let from = isNegative ? start + 1 : start; from < last; from += 1)
    value = value * 10 + <i64>load<u8>(from) - 0x30;
  return isNegative ? -value : value;
}
