// From JSON our encoder wrote to protobuf without an object in between. @hot: records that clients of protobuf list and
// watch pass here, byte for byte as decode and encode would make them, at a fraction of the cost. The passes themselves
// are in wasm/transcode.ts, which is compiled when the server is built; here are the tables they go by.
//
// The first pass goes through the bytes and notes where values are, the second one writes them from their end, because the
// length of a message stands in front of it (protoencode.ts):
//
//   nodes   of a message: one number for each of its fields, where its value begins; of a message within, its node;
//           of a list or a map, its last item, which knows the one before; 0: the field is absent
//   ends    where such a value ends
//
// What is rare is left to decode and encode: another order of fields, types with a form of their own, odd numbers and
// times, documents of very many values.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { canonicalText } from "../../api/quantity.ts";
import type { Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";
import { copyBytes, copyOf, type Stretch, viewOf } from "../../base/copy.ts";
import { planOf, type Slot, shapes } from "../engine/plan.ts";
import { ProtoWriter, writeZero } from "./protoencode.ts";
import { type WireField, wirePlanOf } from "./wireplan.ts";

/** What is used of the runtime's own, which its types leave out. */
declare namespace WebAssembly {
  function validate(bytes: Uint8Array): boolean;
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
    readonly exports: unknown;
  }
}

/** The objects of records, by location (cache/view/view.ts). */
interface RecordObjects {
  object(at: number): Uint8Array;
  objectBytes(at: number): number;
  copyObject(at: number, from: number, target: Uint8Array, to: number): number;
}

/** What wasm/transcode.ts exports. */
interface Program {
  readonly memory: { readonly buffer: ArrayBuffer };
  input(): number;
  inputMax(): number;
  end(): number;
  tables(): number;
  transcode(way: number, length: number, isHead: number): number;
  beyondAscii(): number;
}

/** Bytes of the structures that wasm/transcode.ts describes. */
const [wayBytes, stepBytes, wireBytes] = [20, 40, 40];
const cardinalities = { one: 0, list: 1, map: 2 } as const;
const flags = { micro: 1, dropsZero: 2 } as const;
/** The way of what has a form of its own, and of what there is no room for. */
const foreign = 1;
/** More than the tables of any message take. All built-in kinds take 390 KiB. */
const wayBytesMax = 64 * 1024;
/** Numbers that have more digits are not read. */
const integerMax = 10n ** 15n;

/** The program and its memory: of this thread, since nothing is waited for while it is at work. */
class Transcoder {
  readonly #program: Program;
  readonly #input: number;
  readonly #inputMax: number;
  readonly #end: number;
  /** Where the next table goes, and what it is written with. */
  #free: number;
  readonly #view: DataView;
  readonly #bytes: Buffer;
  /** Ways that were made, and the cells that are for them. */
  readonly #ways = new WeakMap<Message, number>();
  readonly #cells = new WeakMap<Message, number>();
  readonly #messages = new Map<number, Message>();
  readonly #made: { readonly bytes: Uint8Array; from: number; readonly end: number };

  constructor(code: Uint8Array) {
    const host = { isCanonical: (start: number, end: number) => this.#isCanonical(start, end) };
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code), { host });
    this.#program = exports as Program;
    this.#input = this.#program.input();
    this.#inputMax = this.#program.inputMax();
    this.#end = this.#program.end();
    this.#free = this.#program.tables();
    const { buffer } = this.#program.memory;
    this.#view = new DataView(buffer);
    this.#bytes = Buffer.from(buffer);
    this.#made = { bytes: this.#bytes, from: this.#end, end: this.#end };
  }

  /** What was made, in the program's memory: until the next call. As transcode(), or transcodeHead(). */
  run(message: Message, json: Uint8Array, isHead: boolean): Stretch | undefined {
    const { length } = json;
    if (length > this.#inputMax) return undefined;
    const way = this.#wayOf(message);
    while (way !== foreign) {
      copyBytes(this.#bytes, this.#input, json);
      const made = this.#program.transcode(way, length, isHead ? 1 : 0);
      if (made >= 0) {
        if (this.#program.beyondAscii() !== 0 && !isUtf8(json)) return undefined;
        return this.#lent(made);
      }
      if (made === -1) return undefined;
      this.#fill(-made);
    }
    return undefined;
  }

  /** The same of the object of a record, of which no view is made but for what is rare. */
  runRecord(message: Message, source: RecordObjects, at: number): Stretch | undefined {
    const length = source.objectBytes(at);
    const way = this.#wayOf(message);
    if (way === foreign || length > this.#inputMax) return undefined;
    source.copyObject(at, 0, this.#bytes, this.#input);
    const made = this.#program.transcode(way, length, 0);
    if (made < 0) return made === -1 ? undefined : this.run(message, source.object(at), false);
    if (this.#program.beyondAscii() !== 0 && !isUtf8(source.object(at))) return undefined;
    return this.#lent(made);
  }

  /** The last `length` bytes of what the program writes to. */
  #lent(length: number): Stretch {
    this.#made.from = this.#end - length;
    return this.#made;
  }

  #isCanonical(start: number, end: number): number {
    const text = this.#bytes.toString("latin1", start, end);
    const canonical = canonicalText(text);
    return typeof canonical !== "string" && canonical.text === text ? 1 : 0;
  }

  /** Makes the way of a message that is needed: not before, since few of a kind's messages are. */
  #fill(cell: number): void {
    const message = this.#messages.get(cell);
    assert(message !== undefined, "A cell is of a message");
    const way = this.#wayOf(message);
    this.#view.setInt32(cell, way, true);
  }

  #wayOf(message: Message): number {
    let way = this.#ways.get(message);
    if (way === undefined) {
      way = this.#makeWay(message);
      this.#ways.set(message, way);
    }
    return way;
  }

  #makeWay(message: Message): number {
    const { slots, open, union, present } = planOf(message);
    const isForeign = open || union !== undefined || present.some(({ shape }) => shape === shapes.union);
    if (isForeign || this.#bytes.length - this.#free < wayBytesMax) return foreign;
    const orders = new Map(slots.map(({ json }, order) => [json, order]));
    const wires = this.#makeWires(message, orders);
    const steps = this.#room(slots.length * stepBytes);
    for (const [order, slot] of slots.entries()) this.#makeStep(steps + order * stepBytes, slot, order);
    const way = this.#room(wayBytes);
    this.#put32(way, steps, slots.length, wires.at, wires.count, 0);
    return way;
  }

  #makeStep(at: number, slot: Slot, order: number): void {
    const key = Buffer.from(slot.jsonKey.slice(1));
    const keyAt = this.#data(key);
    const cell = slot.message === undefined ? 0 : this.#cellOf(slot.message);
    this.#putKind(at, slot);
    this.#put32(at + 4, keyAt, key.length, cell, order + 1);
    this.#view.setBigInt64(at + 24, clipped(slot.min), true);
    this.#view.setBigInt64(at + 32, clipped(slot.max), true);
  }

  /** Fields of a message, or of one that is inlined in another, whose fields are found by their names. */
  #makeWires(message: Message, orders: ReadonlyMap<string, number>): { readonly at: number; readonly count: number } {
    const { reversed } = wirePlanOf(message);
    const wires = this.#room(reversed.length * wireBytes);
    for (const [index, field] of reversed.entries()) {
      const at = wires + index * wireBytes;
      const { slot } = field;
      if (slot === undefined) {
        assert(field.message !== undefined, "Only messages are inlined");
        const inlined = this.#makeWires(field.message, orders);
        this.#put32(at + 4, -1, field.key, 0, 0, inlined.at, inlined.count);
        continue;
      }
      const order = orders.get(slot.json);
      assert(order !== undefined, `No place for ${slot.json}`);
      const zero = field.always ? zeroBytes(field) : nothing;
      const cell = field.message === undefined ? 0 : this.#cellOf(field.message);
      this.#putKind(at, slot);
      this.#put32(at + 4, order, field.key, this.#data(zero), zero.length, 0, 0, cell);
    }
    return { at: wires, count: reversed.length };
  }

  #putKind(at: number, { shape, cardinality, field, dropsZero }: Slot): void {
    this.#bytes[at] = shape;
    this.#bytes[at + 1] = cardinalities[cardinality];
    this.#bytes[at + 2] = (field.type === "MicroTime" ? flags.micro : 0) + (dropsZero ? flags.dropsZero : 0);
  }

  /** What holds the way of a message when it is needed. */
  #cellOf(message: Message): number {
    let cell = this.#cells.get(message);
    if (cell === undefined) {
      cell = this.#room(4);
      this.#cells.set(message, cell);
      this.#messages.set(cell, message);
    }
    return cell;
  }

  #data(bytes: Uint8Array): number {
    // Compared and copied in blocks, which go on behind.
    const at = this.#room(bytes.length + 16);
    this.#bytes.set(bytes, at);
    return at;
  }

  #put32(at: number, ...numbers: readonly number[]): void {
    for (const [index, number] of numbers.entries()) this.#view.setInt32(at + 4 * index, number, true);
  }

  /** Room for a table, aligned, all of it zero. */
  #room(count: number): number {
    const at = this.#free;
    this.#free = (at + count + 7) & ~7;
    return at;
  }
}

function clipped(limit: number | bigint): bigint {
  const exact = BigInt(limit);
  return exact > integerMax ? integerMax : exact < -integerMax ? -integerMax : exact;
}

const zeroWriter = new ProtoWriter();

/** What is written of a field that is absent, key included. */
function zeroBytes(field: WireField): Uint8Array {
  zeroWriter.reset();
  writeZero(zeroWriter, field);
  zeroWriter.varint(field.key);
  return copyOf(zeroWriter.bytes());
}

const nothing = new Uint8Array(0);
/** Null: the processor lacks what the program needs (vectors, which all have that were made since 2008). */
let transcoder: Transcoder | null | undefined;

function opened(): Transcoder | null {
  if (transcoder === undefined) {
    const code = readFileSync(new URL("../../../wasm/transcode.wasm", import.meta.url));
    transcoder = WebAssembly.validate(code) ? new Transcoder(code) : null;
  }
  return transcoder;
}

/** The message of an object of which `json` is as our encoder wrote it; undefined: it is not to be had in this way. */
export function transcode(message: Message, json: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  return owned(transcoded(message, json));
}

/** As transcode(), in memory that the next call writes to: to be copied before. The stretch is the next call's as well. */
export function transcoded(message: Message, json: Uint8Array): Stretch | undefined {
  return opened()?.run(message, json, false);
}

/** The same of the object of a record. Lists pass here, so that no view is made of the object or the message. */
export function transcodedRecord(message: Message, source: RecordObjects, at: number): Stretch | undefined {
  return opened()?.runRecord(message, source, at);
}

/** As transcode(), of an object whose other fields, all behind those of `message`, are left out. */
export function transcodeHead(message: Message, json: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  return owned(opened()?.run(message, json, true));
}

function owned(made: Stretch | undefined): Uint8Array<ArrayBuffer> | undefined {
  return made && copyOf(viewOf(made));
}
