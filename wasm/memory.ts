// The layout of the program's memory. The program has no objects: every reference is an address. The host is
// src/codec/proto/transcode.ts. Regions, in order:
//
//   nodes, ends   two arrays of numbers: where values begin and end (described in the host)
//   input         the document, followed by zeros
//   output        the message, written from the end of the region
//   tables        the structures below and their bytes, written by the host only
//
//   way    a message type: steps, their number; wires, their number; the step that came first last time
//   step   a field in JSON: shape, cardinality, flags; key and its length; cell; the step that came next last time; least
//          and greatest integer
//   wire   a field in protobuf: shape, cardinality, flags; order of its step, -1 of an inlined message; key; bytes written
//          when it is absent, their number; wires of an inlined message, their number; cell
//   cell   the way of a message type; 0: not made yet, 1: the type has a form of its own and is not transcoded

/** Numbers of nodes and items at most; place 0 stands for nothing. */
export const numbersMax: i32 = 128 * 1024;
/** Begin of the nodes; static data of the program is before it. */
export const nodesAt: usize = 64 * 1024;
/** Begin of the ends. */
export const endsAt: usize = nodesAt + ((<usize>numbersMax) << 2);
/** Begin of the input. Texts are copied in blocks of 16 bytes, which may begin before the first byte. */
export const inputAt: usize = endsAt + ((<usize>numbersMax) << 2) + 64;
/** Bytes a document may have. */
export const inputBytes: usize = 2 * 1024 * 1024;
/** The output region. */
export const outputAt: usize = inputAt + inputBytes + 64;
export const outputEnd: usize = outputAt + 4 * 1024 * 1024;
/** Begin of the tables; all built-in kinds together take 390 KiB. */
export const tablesAt: usize = outputEnd + 64;
const tablesEnd: usize = tablesAt + 1024 * 1024;

memory.grow(<i32>((tablesEnd + 0xffff) >> 16) - memory.size());

/** Shapes, as src/codec/engine/plan.ts numbers them. */
export const shapeString: i32 = 0;
export const shapeBool: i32 = 1;
export const shapeInt: i32 = 2;
export const shapeBytes: i32 = 4;
export const shapeTime: i32 = 5;
export const shapeQuantity: i32 = 6;
export const shapeIntOrString: i32 = 7;
export const shapeRaw: i32 = 8;
export const shapeMessage: i32 = 9;
export const shapeUnion: i32 = 11;

/** Cardinalities, as the host numbers them; 2 is a map. */
export const cardinalityOne: i32 = 0;
export const cardinalityList: i32 = 1;

/** Flags of steps and wires: a time has microseconds; a value of no bytes is as good as absent. */
export const isMicro: i32 = 1;
export const dropsZero: i32 = 2;

/** Sizes of structures, and offsets of their members. */
export const stepBytes: usize = 40;
export const wireBytes: usize = 40;

export const waySteps: usize = 0;
export const wayStepCount: usize = 4;
export const wayWires: usize = 8;
export const wayWireCount: usize = 12;
export const wayFirst: usize = 16;

export const shapeOf: usize = 0;
export const cardinalityOf: usize = 1;
export const flagsOf: usize = 2;

export const stepKey: usize = 4;
export const stepKeyBytes: usize = 8;
export const stepCell: usize = 12;
export const stepNext: usize = 16;
export const stepMin: usize = 24;
export const stepMax: usize = 32;

export const wireOrder: usize = 4;
export const wireKey: usize = 8;
export const wireZero: usize = 12;
export const wireZeroBytes: usize = 16;
export const wireInlined: usize = 20;
export const wireInlinedCount: usize = 24;
export const wireCell: usize = 28;

/** The number of a node at an index. */
export function node(place: i32): i32 {
  return load<i32>(nodesAt + ((<usize>place) << 2));
}

/** Sets a node. */
export function setNode(place: i32, value: i32): void {
  store<i32>(nodesAt + ((<usize>place) << 2), value);
}

/** The address behind the value of a node. */
export function endOf(place: i32): usize {
  return load<u32>(endsAt + ((<usize>place) << 2));
}

/** Sets the end of a value. */
export function setEnd(place: i32, value: usize): void {
  store<u32>(endsAt + ((<usize>place) << 2), <u32>value);
}
