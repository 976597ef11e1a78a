// The few messages of KMS plugins and of what KMS v2 stores, in protobuf: flat, of texts, bytes, one number and one map.
// Fields are known by number, as the proto files of upstream give them (k8s.io/kms, kmstypes/v2).
import { ProtoWriter } from "../../codec/proto/protoencode.ts";
import { ProtoReader } from "../../codec/proto/protoreader.ts";
import { wireTypes } from "../../codec/proto/wireplan.ts";

/** What a field holds when it is written. Empty ones are left out, as proto3 has it. */
export type FieldValue = string | Uint8Array | number | ReadonlyMap<string, Uint8Array>;

/** This thread's writer: nothing awaits between filling and copying it. */
const writer = new ProtoWriter();

/** Writes a message: its fields by number, in rising order. */
export function writeMessage(fields: readonly (readonly [number: number, value: FieldValue])[]): Buffer {
  writer.reset();
  for (const [number, value] of [...fields].reverse()) {
    if (value instanceof Map) {
      for (const [key, bytes] of [...(value as ReadonlyMap<string, Uint8Array>)].reverse())
        writeEntry(number, key, bytes);
    } else writeField(number, value as Exclude<FieldValue, ReadonlyMap<string, Uint8Array>>);
  }
  return Buffer.from(writer.bytes());
}

function writeField(number: number, value: string | Uint8Array | number): void {
  if (typeof value === "number") {
    if (value === 0) return;
    writer.varint(value);
    writer.varint(8 * number + wireTypes.varint);
    return;
  }
  if (value.length === 0) return;
  if (typeof value === "string") writer.text(value);
  else {
    writer.raw(value);
    writer.varint(value.length);
  }
  writer.varint(8 * number + wireTypes.bytes);
}

function writeEntry(number: number, key: string, value: Uint8Array): void {
  const before = writer.length;
  writeField(2, value);
  writeField(1, key);
  writer.varint(writer.length - before);
  writer.varint(8 * number + wireTypes.bytes);
}

/** A message that was read. Fields that are not there are empty; of one that is there twice the last counts. */
export class ReadMessage {
  readonly #numbers = new Map<number, number>();
  readonly #bytes = new Map<number, Buffer[]>();

  /** Throws when the bytes are no message. */
  constructor(bytes: Uint8Array) {
    const reader = new ProtoReader(bytes);
    while (reader.at < bytes.length && reader.fault === undefined) {
      const key = reader.varint(bytes.length);
      const number = Math.floor(key / 8);
      if (key % 8 === wireTypes.varint) this.#numbers.set(number, reader.varint(bytes.length));
      else if (key % 8 === wireTypes.bytes) {
        const values = this.#bytes.get(number) ?? [];
        values.push(reader.slice(reader.span(bytes.length)));
        this.#bytes.set(number, values);
      } else reader.skip(key % 8, bytes.length);
    }
    if (reader.fault !== undefined) throw new Error(`it is no message: ${reader.fault}`);
  }

  number(number: number): number {
    return this.#numbers.get(number) ?? 0;
  }

  /** A part of the message. */
  bytes(number: number): Buffer {
    return this.#bytes.get(number)?.at(-1) ?? Buffer.alloc(0);
  }

  text(number: number): string {
    return this.bytes(number).toString();
  }

  map(number: number): Map<string, Buffer> {
    const entries = (this.#bytes.get(number) ?? []).map((entry) => new ReadMessage(entry));
    return new Map(entries.map((entry) => [entry.text(1), entry.bytes(2)]));
  }
}
