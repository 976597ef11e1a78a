// Links the generated descriptors into Message objects, once at load (about 10 ms). Recursive types refer to one
// another by reference; nothing changes afterwards.
import { assert } from "../base/assert.ts";
import { type FieldData, type FieldExtras, fieldFlags, type MessageData } from "./descriptor.ts";
import { messageData } from "./gen/messages.ts";
import type { Field, Message, ScalarType } from "./schema.ts";

const scalarTypes: ReadonlySet<string> = new Set<ScalarType>([
  "bool",
  "string",
  "bytes",
  "int32",
  "int64",
  "uint32",
  "uint64",
  "float",
  "double",
  "Time",
  "MicroTime",
  "Duration",
  "Quantity",
  "IntOrString",
  "raw",
]);

/** Go types of scalars, as decode errors print them. */
const goScalars: Readonly<Record<ScalarType, string>> = {
  bool: "bool",
  string: "string",
  bytes: "[]uint8",
  int32: "int32",
  int64: "int64",
  uint32: "uint32",
  uint64: "uint64",
  float: "float32",
  double: "float64",
  Time: "v1.Time",
  MicroTime: "v1.MicroTime",
  Duration: "v1.Duration",
  Quantity: "resource.Quantity",
  IntOrString: "intstr.IntOrString",
  raw: "runtime.RawExtension",
};

/** Every message of proto/, by name: `core/v1.Pod`, `meta/v1.ObjectMeta`. */
export const messages: ReadonlyMap<string, Message> = link(messageData);

/** The message `name`; asserts that there is one. */
export function messageOf(name: string): Message {
  const message = messages.get(name);
  assert(message !== undefined, `No message ${name}`);
  return message;
}

type Draft = { -readonly [K in keyof Message]: Message[K] };

function link(data: readonly MessageData[]): ReadonlyMap<string, Message> {
  const linked = new Map<string, Draft>();
  for (const of of data) {
    linked.set(of.name, {
      name: of.name,
      shortName: of.name.slice(of.name.lastIndexOf(".") + 1),
      typeMeta: of.typeMeta === true,
      fields: [],
      byJson: new Map(),
      structType: of.structType,
      special: of.special,
    });
  }
  for (const of of data) {
    const message = linked.get(of.name);
    assert(message !== undefined, "Every message was entered above");
    message.fields = of.fields.map((field) => linkField(field, linked));
  }
  for (const message of linked.values()) message.byJson = jsonNames(message);
  return linked;
}

function linkField([json, number, type, flags, extras]: FieldData, linked: ReadonlyMap<string, Message>): Field {
  const scalar = scalarTypes.has(type);
  const message = scalar ? undefined : linked.get(type);
  assert(scalar || message !== undefined, `Field ${json} has an unknown type ${type}`);
  const cardinality = (flags & fieldFlags.list) !== 0 ? "list" : (flags & fieldFlags.map) !== 0 ? "map" : "one";
  const more: FieldExtras = extras ?? {};
  return {
    json,
    number,
    inline: (flags & fieldFlags.inline) !== 0,
    cardinality,
    type: scalar ? (type as ScalarType) : "message",
    message,
    pointer: (flags & fieldFlags.pointer) !== 0,
    omitEmpty: (flags & fieldFlags.omitEmpty) !== 0,
    goType: more.go ?? goType(type, scalar, cardinality),
    required: (flags & fieldFlags.required) !== 0,
    listType: more.listType,
    listMapKeys: more.listMapKeys ?? [],
    mapType: more.mapType,
    patchStrategy: more.patchStrategy ?? [],
    patchMergeKey: more.patchMergeKey,
    default: more.default,
    enum: more.enum ?? [],
    immutable: more.immutable,
  };
}

/** `core/v1.Pod` is `v1.Pod` in Go: reflection prints the package's last name. */
function goType(type: string, scalar: boolean, cardinality: Field["cardinality"]): string {
  const item = scalar ? goScalars[type as ScalarType] : type.slice(type.lastIndexOf("/") + 1);
  return cardinality === "list" ? `[]${item}` : cardinality === "map" ? `map[string]${item}` : item;
}

function jsonNames(message: Message): Map<string, Field> {
  const names = new Map<string, Field>();
  for (const field of message.fields) {
    if (!field.inline) {
      names.set(field.json, field);
      continue;
    }
    assert(field.message !== undefined, "Only messages are inlined");
    for (const [name, inner] of jsonNames(field.message)) if (!names.has(name)) names.set(name, inner);
  }
  return names;
}
