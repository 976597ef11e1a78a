// Where things are in the memory of the program. All of it is raw, and every place in it is an address. Regions, in order:
//
//   nodes, ends   as many numbers each (src/codec/proto/transcode.ts)
//   input         the document, with zeros behind
//   output        what is written, from its end
//   tables        ways, steps, wires, cells and their bytes, which only the other side writes
//
//   way    steps, their number, wires, their number, first
//   step   shape, cardinality, flags; key, its bytes; cell; next; least and greatest integer
//   wire   shape, cardinality, flags; order; key; zero, its bytes; inlined wires, their number; cell
//   cell   of a message: its way; 0 while nobody has needed it, 1 of what has a form of its own

/** Numbers of nodes and items at most; place 0 stands for nothing. */
export const numbersMax: i32 = 128 * 1024;
export const nodesAt: usize = 64 * 1024;
/** Blocks are cleared beyond the last node. */
export const endsAt: usize = nodesAt + ((<usize>numbersMax) << 2) + 64;
/** Blocks are read from before the first byte. */
export const inputAt: usize = endsAt + ((<usize>numbersMax) << 2) + 64;
export const inputBytes: usize = 2 * 1024 * 1024;
export const outputAt: usize = inputAt + inputBytes + 64;
export const outputEnd: usize = outputAt + 4 * 1024 * 1024;
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

export const cardinalityOne: i32 = 0;
export const cardinalityList: i32 = 1;

/** Flags of steps and wires: a time has microseconds; a value of no bytes is as good as absent. */
export const isMicro: i32 = 1;
export const dropsZero: i32 = 2;

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

/** The number at a place among the nodes. */
export function node(place: i32): i32 {
  return load<i32>(nodesAt + ((<usize>place) << 2));
}

export function setNode(place: i32, value: i32): void {
  store<i32>(nodesAt + ((<usize>place) << 2), value);
}

export function endOf(place: i32): usize {
  return load<u32>(endsAt + ((<usize>place) << 2));
}

export function setEnd(place: i32, value: usize): void {
  store<u32>(endsAt + ((<usize>place) << 2), <u32>value);
}
