// Parts that many bodies have byte for byte, as the pods of one ReplicaSet have their spec. What came before is not read
// again but copied, and what is derived from it alone is kept with it. @hot: controllers create pods by the thousand.
import type { Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";
import { flatText } from "../../base/flattext.ts";
import { Recent } from "../../base/recent.ts";
import { limits } from "../../config/limits.ts";
import { copyObject } from "../engine/copy.ts";
import { isSamePart, Settled } from "../engine/settled.ts";
import { Fault } from "../json/fault.ts";
import { decodeProto, readProto } from "./protodecode.ts";
import { ProtoReader } from "./protoreader.ts";
import { wirePlanOf, wireTypes } from "./wireplan.ts";

/** What is known of a part. */
interface Seen {
  /** What it takes in memory beside its key. */
  readonly bytes: number;
}

/** It came, and nothing of it is kept until it comes again. */
const once: Seen = { bytes: limits.templateValueBytes };
/** It came again, and has too many values to be kept. */
const large: Seen = { bytes: limits.templateValueBytes };

/** A part that came more than once. */
export class Template implements Seen {
  /** As it was sent; must not be changed. */
  readonly part: object;
  readonly bytes: number;
  readonly #ownedCharsMax: number;
  readonly #settledCharsMax: number;
  readonly #settledValuesMax: number;
  #owned: string | undefined;
  #settled: Settled | undefined;

  /** `partBytes`: what was sent; `values`: of so many it consists. What is kept with it is counted before it is known. */
  constructor(part: object, partBytes: number, values: number) {
    this.part = part;
    // What programs send owns about as many characters, and some defaults; a character may take two bytes.
    this.#ownedCharsMax = 2 * partBytes + limits.templateDefaultsChars;
    // JSON names each field, and has what plugins add besides. Values share their texts with those of the part.
    this.#settledCharsMax = 4 * partBytes + 2 * limits.templateDefaultsChars;
    this.#settledValuesMax = values + limits.templateDefaultsValues;
    const settledBytes = (limits.templateValueBytes / 2) * this.#settledValuesMax + 2 * this.#settledCharsMax;
    this.bytes = limits.templateValueBytes * (1 + values) + 2 * this.#ownedCharsMax + settledBytes;
  }

  /** FieldsV1 of what is in it, once that was found: with its defaults, which depend on nothing else. */
  get owned(): string | undefined {
    return this.#owned;
  }

  /** Keeps what was found to be owned, unless it is far longer than what it is about. */
  keepOwned(text: string): void {
    if (text.length <= this.#ownedCharsMax) this.#owned = flatText(text);
  }

  /**
   * The part as objects of the template share it: `part`, a copy of this one that is changed no more, or one before it that
   * has the same JSON.
   */
  share(message: Message, part: object): object {
    if (this.#settled !== undefined && isSamePart(message, part, this.#settled.part)) return this.#settled.part;
    // Those that come are most likely like the last one.
    this.#settled = Settled.of(message, part, this.#settledValuesMax, this.#settledCharsMax);
    return part;
  }
}

/** By the bytes of the part, each as a character. */
const seen = new Recent<string, Seen>(limits.templatesBytesMax, (key, { bytes }) => key.length + bytes);

/** By the parts that are copies of them. */
const templates = new WeakMap<object, Template>();

/** The template that a part of a decoded object is a copy of. */
export function templateOf(part: unknown): Template | undefined {
  return templates.get(part as object);
}

/**
 * Says that a new object is as it will be stored: its part is from now on that of all objects of the template which have
 * the same (engine/settled.ts), and must not be changed.
 */
export function settleTemplated(message: Message, object: object): void {
  const field = partOf(message);
  if (field === undefined) return;
  const holder = object as Record<string, unknown>;
  const part = holder[field.json];
  const template = templateOf(part);
  if (template !== undefined) holder[field.json] = template.share(field.message, part as object);
}

/** What decodeProto() gives, with less work where a part of it came before. */
export function decodeTemplated<T extends object>(message: Message, bytes: Uint8Array): T | Fault {
  return fromTemplate<T>(message, bytes) ?? decodeProto<T>(message, bytes);
}

/** An object of which one part is copied; undefined: it is to be read as a whole, which also tells what is wrong with it. */
function fromTemplate<T extends object>(message: Message, bytes: Uint8Array): T | undefined {
  const field = partOf(message);
  if (field === undefined || bytes.length > limits.templateBytesMax) return undefined;
  const range = rangeOf(bytes, field.key);
  if (range === undefined) return undefined;
  const template = recall(field.message, bytes.subarray(range.from, range.end));
  if (template === undefined) return undefined;
  const rest = Buffer.concat([bytes.subarray(0, range.at), bytes.subarray(range.end)]);
  const object = decodeProto<T>(message, rest, limits.bodyValuesMax - limits.templateValuesMax);
  if (object instanceof Fault) return undefined;
  const part = copyObject(field.message, template.part);
  templates.set(part, template);
  (object as Record<string, unknown>)[field.json] = part;
  return object;
}

/** The template of a part that came at least twice before; what comes for the second time becomes one. */
function recall(message: Message, bytes: Uint8Array): Template | undefined {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  const known = seen.get(key);
  if (known instanceof Template) return known;
  if (known === undefined) seen.set(key, once);
  else if (known === once) seen.set(key, templateFrom(message, bytes) ?? large);
  return undefined;
}

function templateFrom(message: Message, bytes: Uint8Array): Template | undefined {
  const reader = new ProtoReader(bytes, limits.templateValuesMax);
  const part = readProto(reader, message, bytes.length);
  return part instanceof Fault ? undefined : new Template(part, bytes.length, limits.templateValuesMax - reader.left);
}

/** The field of a message that is kept, by the message's name. */
const partFields: ReadonlyMap<string, string> = new Map([["core/v1.Pod", "spec"]]);

interface PartField {
  readonly json: string;
  /** Number and wire type, as they stand before the part. */
  readonly key: number;
  readonly message: Message;
}

/** Null: none of its fields is kept. */
const fields = new WeakMap<Message, PartField | null>();

function partOf(message: Message): PartField | undefined {
  let field = fields.get(message);
  if (field === undefined) fields.set(message, (field = makePart(message)));
  return field ?? undefined;
}

function makePart(message: Message): PartField | null {
  const json = partFields.get(message.name);
  if (json === undefined) return null;
  const wire = wirePlanOf(message).reversed.find(({ slot }) => slot?.json === json);
  assert(wire?.message !== undefined, `${message.name} has no message in ${json}`);
  return { json, key: wire.key, message: wire.message };
}

/** Where a field is in a message. */
interface Range {
  /** Its key. */
  readonly at: number;
  /** Its bytes. */
  readonly from: number;
  readonly end: number;
}

/** Where the one field of `key` is; undefined: there is none, there are several, or something else is unusual. */
function rangeOf(bytes: Uint8Array, key: number): Range | undefined {
  const reader = new ProtoReader(bytes);
  let range: Range | undefined;
  while (reader.at < bytes.length) {
    const at = reader.at;
    const own = reader.varint(bytes.length);
    // Beyond 32 bits a number is another one (Go's int32).
    if (own % 8 !== wireTypes.bytes || own >= 2 ** 31) return undefined;
    const end = reader.span(bytes.length);
    if (reader.fault !== undefined) return undefined;
    if (own === key) {
      if (range !== undefined) return undefined;
      range = { at, from: reader.at, end };
    }
    reader.at = end;
  }
  return range;
}
