// The shape of every type, compiled from proto/ by scripts/gen. One descriptor serves the JSON codec, the protobuf
// codec, defaults, patches and OpenAPI; nothing about a kind's shape is written twice.
//
// In memory a message is a plain object whose properties are the JSON names of its schema (never a client's key):
//   scalar            boolean, string, number; int64 outside ±2^53: bigint. Where Go holds no pointer, zero is undefined
//                     after decoding if the field is left out of JSON when empty, and present (`""`, 0, false) if not
//   bytes             string, standard padded base64 (the JSON form)
//   Time, MicroTime   string, canonical JSON form; zero is undefined
//   Duration          string, Go's text
//   Quantity          string, canonical; without a pointer always present ("0")
//   IntOrString       number or string; without a pointer always present (0)
//   raw               RawJson: RawExtension, FieldsV1, JSON
//   map               Map
//   list              array; nil is undefined (an empty array is an empty list, which Go distinguishes)
//   message           object; a non-pointer message field is always present after decoding, a nil pointer undefined
//   inlined message   its properties are in the parent's object, as in JSON
//   special "List"    string array (ExtraValue, Verbs)
//   open message      its fields that are not in the schema are in `content`, a ValueMap of our own values
// The linked descriptors are in messages.ts, the TypeScript interfaces in gen/<group>_<version>.ts.

/** Raw JSON kept as compact text: RawExtension, FieldsV1 and the JSON type. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Scalars of the wire and the special scalars of the API. */
export type ScalarType =
  | "bool"
  | "string"
  | "bytes"
  | "int32"
  | "int64"
  | "uint32"
  | "uint64"
  | "float"
  | "double"
  | "Time"
  | "MicroTime"
  | "Duration"
  | "Quantity"
  | "IntOrString"
  | "raw";

/** One field of a message. */
export interface Field {
  /** JSON name, and the property in memory. Empty when `inline`. */
  readonly json: string;
  /** Protobuf field number. */
  readonly number: number;
  /** Fields of the message are in its parent's JSON object. */
  readonly inline: boolean;
  readonly cardinality: "one" | "list" | "map";
  /** Scalar type of the value (of a list's items, of a map's values), or "message". */
  readonly type: ScalarType | "message";
  /** The message type when `type` is "message". */
  readonly message: Message | undefined;
  /** Go's pointer: absent differs from zero. */
  readonly pointer: boolean;
  /** Raw JSON that our encoder wrote as a value of another type: it is taken as it stands (codec/engine/outline.ts). */
  readonly isKept?: boolean;
  /** Left out of JSON when empty. */
  readonly omitEmpty: boolean;
  /** Go type as decode errors contain it (`map[string]string`, `v1.ObjectMeta`). */
  readonly goType: string;
  /** Listed as required in OpenAPI. */
  readonly required: boolean;
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: "atomic" | "granular" | undefined;
  readonly patchStrategy: readonly string[];
  readonly patchMergeKey: string | undefined;
  /** Default written in the schema, as JSON text. */
  readonly default: string | undefined;
  readonly enum: readonly string[];
  readonly immutable: string | undefined;
}

/** A message type. Recursive types refer to one another by reference. */
export interface Message {
  /** Full name, `<group>/<version>.<Name>` for kinds' types, e.g. `core/v1.Pod`, `meta/v1.ObjectMeta`. */
  readonly name: string;
  /** Name alone, as Go's errors print it: `ObjectMeta`. */
  readonly shortName: string;
  /** kind and apiVersion lead the JSON object (and are absent from protobuf). */
  readonly typeMeta: boolean;
  /** In the order JSON is emitted. */
  readonly fields: readonly Field[];
  /** By JSON name, fields of inlined messages included. */
  readonly byJson: ReadonlyMap<string, Field>;
  readonly structType: "atomic" | undefined;
  /** JSON form that differs from an object: JSONSchemaPropsOrBool and its like. */
  readonly special: string | undefined;
  /** Fields it does not have are kept, not dropped: objects of custom resources. */
  readonly open?: boolean;
}
