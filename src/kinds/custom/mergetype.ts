// What server-side apply makes of a schema: the type of the whole object, by the list and map types of the definition.
// What the schema leaves open is merged key by key as it comes, its lists as a whole.
import { messageOf } from "../../api/messages.ts";
import { writeValue } from "../../codec/engine/json.ts";
import { deduced, type ListType, type MapType, type Type, typeOfMessage } from "../../merge/schema.ts";
import { type Node, types } from "./plan.ts";

const text: Type = { kind: "scalar", scalar: "string" };
const numeric: Type = { kind: "scalar", scalar: "numeric" };
const boolean: Type = { kind: "scalar", scalar: "boolean" };

/** The type of the objects of a compiled schema. */
export function mergeTypeOf(root: Node): MapType {
  const types = new TypeMaker();
  return types.object(root, root.preserves, true);
}

/** Makes the types of one schema; equal subtrees have one type. */
class TypeMaker {
  /** By node; apart for those within an object that keeps unknown fields, which do, too. */
  readonly #open = new Map<Node, Type>();
  readonly #closed = new Map<Node, Type>();

  object(node: Node, open: boolean, isRoot = false): MapType {
    const atomic = node.mapType === "atomic";
    const isObject = isRoot || node.embeds;
    if (node.properties === undefined && !isObject) {
      const { additional } = node;
      const element = typeof additional === "object" ? this.#of(additional, open) : deduced;
      return { kind: "map", fields: new Map(), element, atomic };
    }
    const fields = new Map<string, Type>();
    for (const [name, property] of node.properties ?? []) fields.set(name, this.#of(property, open));
    if (isObject) {
      fields.set("apiVersion", text).set("kind", text);
      fields.set("metadata", typeOfMessage(messageOf("meta/v1.ObjectMeta")));
    }
    return { kind: "map", fields, element: open ? deduced : undefined, atomic };
  }

  #of(node: Node, inOpen: boolean): Type {
    const open = inOpen || node.preserves;
    const known = open ? this.#open : this.#closed;
    const made = known.get(node) ?? this.#make(node, open);
    known.set(node, made);
    return made;
  }

  #make(node: Node, open: boolean): Type {
    switch (node.types) {
      case types.string:
        return text;
      case types.integer:
      case types.number:
        return numeric;
      case types.boolean:
        return boolean;
      case types.array:
        return this.#list(node, open);
      case types.object:
        return this.object(node, open);
      default:
        return node.properties === undefined && !node.embeds ? deduced : this.object(node, open);
    }
  }

  #list(node: Node, open: boolean): ListType {
    const { items } = node;
    const element = items === undefined ? deduced : this.#of(items, open);
    const rules = node.rules?.list;
    if (rules === undefined) return { kind: "list", element, relation: "atomic", keys: [] };
    if (rules.kind === "set") return { kind: "list", element, relation: "set", keys: [] };
    const keys = [...rules.keys].sort().map((name) => {
      const value = items?.properties?.get(name)?.default;
      return { name, default: value === undefined ? undefined : writeValue(value) };
    });
    return { kind: "list", element, relation: "keyed", keys };
  }
}
