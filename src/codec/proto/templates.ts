// Parts that many bodies have byte for byte, as the pods of one ReplicaSet have their spec. What came before is not read
// again but copied, and what is derived from it alone is kept with it. @hot: controllers create pods by the thousand.
import type { Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";
import { flatText } from "../../base/flattext.ts";
import { Recent } from "../../base/recent.ts";
import { limits } from "../../config/limits.ts";
import { copyObject } from "../engine/copy.ts";
import { Fault } from "../json/fault.ts";
import { decodeProto, readProto } from "./protodecode.ts";
import { ProtoReader } from "./protoreader.ts";
import { wirePlanOf, wireTypes } from "./wireplan.ts";

/** A part that came more than once. */
export interface Template {
  /** As it was sent; must not be changed. */
  readonly part: object;
  /** FieldsV1 of what is in it, once that was asked for: with its defaults, which depend on nothing else. */
  readonly owned: string | undefined;
  /** Keeps `owned`, unless it is far longer than what it is about. */
  keepOwned(text: string): void;
}

/** The field of a message in which it has such a part, by the message's name. */
const partFields: ReadonlyMap<string, string> = new Map([["core/v1.Pod", "spec"]]);

/** A field that is kept, and its message. */
interface PartField {
  readonly json: string;
  /** Number and wire type: one byte before the part. */
  readonly key: number;
  readonly message: Message;
}

/** What is known of a part: nothing but that it came, until it comes again. */
interface Seen {
  readonly template: Template | undefined;
  /** It has too many values to be kept. */
  readonly isLarge: boolean;
  /** Values of the template. */
  readonly values: number;
}

/** By the bytes of the part, each as a character. What a template is to own is counted before it is known. */
const seen = new Recent<string, Seen>(
  limits.templatesBytesMax,
  (bytes, { template, values }) =>
    limits.templateValueBytes * (1 + values) + bytes.length + (template === undefined ? 0 : 2 * ownedCharsMax(bytes)),
);

/** FieldsV1 of what programs send is about as long as that, and some defaults; a character may take two bytes. */
function ownedCharsMax(bytes: string): number {
  return 2 * bytes.length + limits.templateDefaultsChars;
}

class Kept implements Template {
  readonly part: object;
  readonly #charsMax: number;
  owned: string | undefined = undefined;

  constructor(part: object, bytes: string) {
    this.part = part;
    this.#charsMax = ownedCharsMax(bytes);
  }

  keepOwned(text: string): void {
    if (text.length <= this.#charsMax) this.owned = flatText(text);
  }
}

const templates = new WeakMap<object, Template>();

/** The template that a part of a decoded object is a copy of. */
export function templateOf(part: object): Template | undefined {
  return templates.get(part);
}

/** What decodeProto() gives, with less work where a part of it came before. */
export function decodeTemplated<T extends object>(message: Message, bytes: Uint8Array): T | Fault {
  const field = partOf(message);
  const range = field === undefined || bytes.length > limits.templateBytesMax ? undefined : rangeOf(bytes, field.key);
  if (field === undefined || range === undefined) return decodeProto<T>(message, bytes);
  const template = recall(field, bytes, range);
  if (template === undefined) return decodeProto<T>(message, bytes);
  const rest = Buffer.concat([bytes.subarray(0, range.at), bytes.subarray(range.end)]);
  const object = decodeProto<T>(message, rest, limits.bodyValuesMax - limits.templateValuesMax);
  // What is wrong is told of the whole.
  if (object instanceof Fault) return decodeProto<T>(message, bytes);
  const part = copyObject(field.message, template.part);
  templates.set(part, template);
  (object as Record<string, unknown>)[field.json] = part;
  return object;
}

/** The template of a part that came at least twice before; what comes for the second time becomes one. */
function recall(field: PartField, bytes: Uint8Array, { from, end }: Range): Template | undefined {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString("latin1");
  const known = seen.get(key);
  if (known === undefined) {
    seen.set(key, { template: undefined, isLarge: false, values: 0 });
    return undefined;
  }
  if (known.template !== undefined || known.isLarge) return known.template;
  const reader = new ProtoReader(Buffer.from(key, "latin1"), limits.templateValuesMax);
  const part = readProto(reader, field.message, key.length);
  const isKept = !(part instanceof Fault);
  const values = isKept ? limits.templateValuesMax - reader.left : 0;
  seen.set(key, { template: isKept ? new Kept(part, key) : undefined, isLarge: !isKept, values });
  return undefined;
}

const fields = new WeakMap<Message, PartField | null>();

function partOf(message: Message): PartField | undefined {
  const known = fields.get(message);
  if (known !== undefined) return known ?? undefined;
  const json = partFields.get(message.name);
  const wire = json === undefined ? undefined : wirePlanOf(message).reversed.find(({ slot }) => slot?.json === json);
  assert(json === undefined || wire?.message !== undefined, `${message.name} has no message in ${json}`);
  const field =
    json === undefined || wire?.message === undefined ? null : { json, key: wire.key, message: wire.message };
  fields.set(message, field);
  return field ?? undefined;
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
