// The types that schemas declare. What a schema leaves open has no type, and cannot be named in an expression.
import { type Node, types } from "../plan.ts";
import {
  boolType,
  bytesType,
  CelType,
  type DeclaredField,
  type DeclaredFields,
  doubleType,
  durationType,
  dynType,
  identifierOf,
  intType,
  stringType,
} from "./types.ts";

const known = new WeakMap<Node, CelType>();
const roots = new WeakMap<Node, CelType>();
/** What stands for schemas without a type, which are looked for as often as others. */
const untyped = new CelType("null");

/** The type of what a schema says; undefined: expressions have none for it. */
export function typeOfNode(node: Node): CelType | undefined {
  let type = known.get(node);
  if (type === undefined) {
    type = declaredType(node, node.embeds) ?? untyped;
    known.set(node, type);
  }
  return type === untyped ? undefined : type;
}

/** The type of whole objects of a version. */
export function typeOfRoot(node: Node): CelType {
  let type = roots.get(node);
  if (type === undefined) {
    type = objectType(node, true);
    roots.set(node, type);
  }
  return type;
}

function declaredType(node: Node, isWhole: boolean): CelType | undefined {
  switch (node.types) {
    case types.integer | types.string:
      return dynType;
    case types.integer:
      return intType;
    case types.number:
      return doubleType;
    case types.boolean:
      return boolType;
    case types.string:
      return textType(node);
    case types.array: {
      const item = node.items === undefined ? undefined : typeOfNode(node.items);
      return item && new CelType("list", [item], { node });
    }
    case types.object: {
      if (typeof node.additional !== "object" || isWhole) return objectType(node, isWhole);
      const value = typeOfNode(node.additional);
      return value && new CelType("map", [stringType, value], { node });
    }
    default:
      return undefined;
  }
}

function textType(node: Node): CelType {
  switch (node.rules?.format?.name) {
    case "byte":
      return bytesType;
    case "date":
    case "date-time":
      return new CelType("timestamp", [], { node });
    case "duration":
      return durationType;
    default:
      return stringType;
  }
}

function objectType(node: Node, isWhole: boolean): CelType {
  return new CelType("object", [], { node, fields: () => fieldsOf(node, isWhole) });
}

function fieldsOf({ properties }: Node, isWhole: boolean): DeclaredFields {
  const byIdentifier = new Map<string, DeclaredField>();
  const byName = new Map<string, CelType>();
  const declare = (name: string, type: CelType | undefined): void => {
    const identifier = identifierOf(name);
    if (type === undefined) return;
    byName.set(name, type);
    if (identifier !== undefined) byIdentifier.set(identifier, { name, type });
  };
  for (const [name, property] of properties ?? []) declare(name, typeOfNode(property));
  if (isWhole) {
    for (const name of ["apiVersion", "kind"]) declare(name, stringType);
    declare("metadata", metadataType);
  }
  return { byIdentifier, byName };
}

const metadataFields: DeclaredFields = {
  byIdentifier: new Map(["name", "generateName"].map((name) => [name, { name, type: stringType }])),
  byName: new Map(["name", "generateName"].map((name) => [name, stringType])),
};

/** Of the metadata of an object, expressions know what names it. */
const metadataType = new CelType("object", [], { fields: () => metadataFields });
