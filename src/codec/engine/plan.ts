// The codec's plan of a message beyond its descriptor: fields of inlined messages flattened into place, what
// each field's value is and when it is written. Made once per message, when it is first used.
import type { Field, Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";

/** The type of one value, of a field's items for lists and maps. */
export const shapes = {
  string: 0,
  bool: 1,
  int: 2,
  float: 3,
  bytes: 4,
  time: 5,
  quantity: 6,
  intOrString: 7,
  raw: 8,
  message: 9,
  /** A list of strings with a name of its own (ExtraValue, Verbs). */
  strings: 10,
  /** JSONSchemaPropsOrBool and its like. */
  union: 11,
  duration: 12,
} as const;

/** One of `shapes`. */
export type Shape = (typeof shapes)[keyof typeof shapes];

/** A field as the codec sees it. */
export interface Slot {
  readonly json: string;
  /** `"name":` */
  readonly jsonKey: string;
  readonly field: Field;
  readonly cardinality: "one" | "list" | "map";
  readonly shape: Shape;
  readonly pointer: boolean;
  /** Written even when absent: as the type's zero. */
  readonly always: boolean;
  /** Absent after decoding when zero: Go leaves it out of JSON and holds no pointer. */
  readonly dropsZero: boolean;
  /** Lists and maps that are always written: an empty one reads back as none, as upstream's store has it. */
  readonly emptyIsNull: boolean;
  /** Go struct the field belongs to, in errors. */
  readonly structName: string;
  /** Go type of the field, and of its items or values. */
  readonly goType: string;
  readonly goItem: string;
  /** Range of integers. */
  readonly min: number | bigint;
  readonly max: number | bigint;
  /** Plan of the message, made on demand: types are recursive. */
  readonly message: Message | undefined;
}

/** A message as the codec sees it. */
export interface Plan {
  readonly message: Message;
  readonly goName: string;
  /** kind and apiVersion included, in the order of JSON. */
  readonly slots: readonly Slot[];
  readonly byName: ReadonlyMap<string, Slot>;
  /** Slots that a decoded object always has. */
  readonly present: readonly Slot[];
  readonly union: string | undefined;
  /** Other fields are kept in `content`. */
  readonly open: boolean;
}

const plans = new WeakMap<Message, Plan>();

/** The plan of a message. */
export function planOf(message: Message): Plan {
  return plans.get(message) ?? makePlan(message);
}

/** The plan of a slot's message. */
export function slotPlan(slot: Slot): Plan {
  assert(slot.message !== undefined, "Only messages have plans");
  return planOf(slot.message);
}

function makePlan(message: Message): Plan {
  const slots: Slot[] = message.typeMeta ? [typeSlot(message, "kind"), typeSlot(message, "apiVersion")] : [];
  flatten(message, message, slots);
  const union = message.special === "List" ? undefined : message.special;
  const plan: Plan = {
    message,
    goName: goName(message),
    slots,
    byName: new Map(slots.map((slot) => [slot.json, slot])),
    present: slots.filter(isPresent),
    union,
    open: message.open === true,
  };
  plans.set(message, plan);
  return plan;
}

/** `v1.Pod` of `core/v1.Pod`. */
export function goName(message: Message): string {
  return message.name.slice(message.name.lastIndexOf("/") + 1);
}

function flatten(message: Message, parent: Message, into: Slot[]): void {
  for (const field of message.fields) {
    if (field.inline) {
      assert(field.message !== undefined, "Only messages are inlined");
      flatten(field.message, parent, into);
    } else {
      into.push(slotOf(field, parent));
    }
  }
}

const shapeOf: Readonly<Record<Field["type"], Shape>> = {
  string: shapes.string,
  bool: shapes.bool,
  bytes: shapes.bytes,
  int32: shapes.int,
  int64: shapes.int,
  uint32: shapes.int,
  uint64: shapes.int,
  float: shapes.float,
  double: shapes.float,
  Time: shapes.time,
  MicroTime: shapes.time,
  Duration: shapes.duration,
  Quantity: shapes.quantity,
  IntOrString: shapes.intOrString,
  raw: shapes.raw,
  message: shapes.message,
};

const ranges: Readonly<Partial<Record<Field["type"], readonly [number | bigint, number | bigint]>>> = {
  int32: [-2147483648, 2147483647],
  int64: [-(1n << 63n), (1n << 63n) - 1n],
  uint32: [0, 4294967295],
  uint64: [0n, (1n << 64n) - 1n],
};

/** Types whose messages are not kept as protobuf by upstream, so that empty lists survive its store. */
const keepsEmpty =
  /^(?:apiextensions|apiregistration|authentication|authorization|admission|meta|clientauthentication)\//;

function slotOf(field: Field, parent: Message): Slot {
  const special = field.message?.special;
  const shape = special === undefined ? shapeOf[field.type] : special === "List" ? shapes.strings : shapes.union;
  const one = field.cardinality === "one";
  // Go writes structs whatever their tag says.
  const struct =
    one &&
    (shape === shapes.message ||
      shape === shapes.time ||
      shape === shapes.quantity ||
      shape === shapes.intOrString ||
      shape === shapes.raw ||
      shape === shapes.union ||
      shape === shapes.duration);
  const always = !field.omitEmpty || (struct && !field.pointer);
  const [min, max] = ranges[field.type] ?? [0, 0];
  const items = parent.name.endsWith("List") && field.json === "items";
  return {
    json: field.json,
    jsonKey: `${JSON.stringify(field.json)}:`,
    field,
    cardinality: field.cardinality,
    shape,
    pointer: field.pointer,
    always,
    dropsZero: field.omitEmpty && !field.pointer && one,
    emptyIsNull: always && !one && !items && !keepsEmpty.test(parent.name),
    structName: parent.shortName,
    goType: field.goType,
    goItem: itemType(field),
    min,
    max,
    message: field.message,
  };
}

function itemType(field: Field): string {
  const { goType } = field;
  if (field.cardinality === "list" && goType.startsWith("[]")) return goType.slice(2);
  if (field.cardinality === "map" && goType.startsWith("map[string]")) return goType.slice("map[string]".length);
  return field.cardinality !== "one" && field.message !== undefined ? goName(field.message) : goType;
}

/** Fields that Go holds by value and always writes are always present. */
function isPresent(slot: Slot): boolean {
  if (slot.cardinality !== "one" || slot.pointer || !slot.always) return false;
  return (
    slot.shape !== shapes.time &&
    slot.shape !== shapes.raw &&
    slot.shape !== shapes.bytes &&
    slot.shape !== shapes.strings
  );
}

function typeSlot(parent: Message, json: string): Slot {
  const field: Field = {
    json,
    number: 0,
    inline: false,
    cardinality: "one",
    type: "string",
    message: undefined,
    pointer: false,
    omitEmpty: true,
    goType: "string",
    required: false,
    listType: undefined,
    listMapKeys: [],
    mapType: undefined,
    patchStrategy: [],
    patchMergeKey: undefined,
    default: undefined,
    enum: [],
    immutable: undefined,
  };
  return slotOf(field, parent);
}
