// YAML request bodies, as the reference reads them: the first document of YAML 1.1, turned into what JSON can say (keys
// become strings, numbers lose their spelling). The yaml package finds the nodes; what a scalar means, aliases and merge
// keys are decided here, because the reference's reader differs from every schema of the package, and to bound them.
//
// A body that is JSON, which is what most clients send under a YAML content type, is read by the JSON reader.
import {
  type Alias,
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  Parser,
  Scalar,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import { NumberText, type Value, type ValueMap } from "../api/value.ts";
import { limits } from "../config/limits.ts";
import { Fault } from "./fault.ts";
import { parseIntegersOnly, textOf } from "./scan.ts";

/** Parses one YAML document. Aliases, depth and size are bounded. */
export function parseYaml(bytes: Uint8Array): Value | Fault {
  const text = textOf(bytes);
  // A fraction may be spelled in ways YAML reads as an integer (`1.0`); such documents go the long way.
  const json = /^\s*[{[]/.test(text) ? parseIntegersOnly(text) : undefined;
  if (json !== undefined) return json;
  try {
    return parseDocument(text);
  } catch (error) {
    if (error instanceof RangeError) return new Fault("yaml: exceeded max depth");
    throw error;
  }
}

/** What conversion keeps track of. */
interface Conversion {
  /** Anchors seen so far; a later one of the same name takes its place. Undefined while its node is being read. */
  readonly anchors: Map<string, Node | undefined>;
  /** Nodes made while following aliases. */
  aliased: number;
  aliasDepth: number;
  depth: number;
  fault: Fault | undefined;
}

function parseDocument(text: string): Value | Fault {
  const composer = new Composer({
    version: "1.1",
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    strict: false,
    stringKeys: false,
    logLevel: "silent",
  });
  for (const document of composer.compose(new Parser().parse(text), true, text.length)) {
    const error = document.errors[0];
    if (error !== undefined) return new Fault(describe(text, error));
    const conversion: Conversion = { anchors: new Map(), aliased: 0, aliasDepth: 0, depth: 0, fault: undefined };
    const value = document.contents === null ? null : convert(conversion, document.contents as Node);
    return conversion.fault ?? value;
  }
  return null;
}

/** The words of the reference's parser for the commonest mistakes; its line numbers count from zero. */
const phrases: Readonly<Partial<Record<YAMLError["code"], string>>> = {
  BAD_INDENT: "did not find expected key",
  BLOCK_AS_IMPLICIT_KEY: "mapping values are not allowed in this context",
  BAD_DQ_ESCAPE: "found unknown escape character",
  TAB_AS_INDENT: "found character that cannot start any token",
  BAD_SCALAR_START: "found character that cannot start any token",
  MULTIPLE_ANCHORS: "did not find expected node content",
  RESOURCE_EXHAUSTION: "exceeded max depth",
};

function describe(text: string, error: YAMLError): string {
  const at = Math.min(error.pos[0], text.length);
  const line = text.slice(0, at).split("\n").length - 1;
  const unclosed = /flow (?:sequence|map)/i.test(error.message);
  const bracket = /flow map/i.test(error.message) ? "}" : "]";
  const phrase = unclosed ? `did not find expected ',' or '${bracket}'` : phrases[error.code];
  return `yaml: ${line > 0 ? `line ${line}: ` : ""}${phrase ?? lowerFirst(error.message)}`;
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

function stop(conversion: Conversion, message: string): null {
  conversion.fault ??= new Fault(`yaml: ${message}`);
  return null;
}

function convert(conversion: Conversion, node: Node): Value {
  if (conversion.fault !== undefined) return null;
  if (conversion.aliasDepth > 0) {
    conversion.aliased += 1;
    if (conversion.aliased > limits.yamlAliasedNodesMax)
      return stop(conversion, "document contains excessive aliasing");
  }
  if (isAlias(node)) return convertAlias(conversion, node);
  const anchor = (node as Scalar).anchor;
  if (anchor !== undefined && conversion.aliasDepth === 0) conversion.anchors.set(anchor, undefined);
  if (conversion.depth >= limits.yamlDepthMax) return stop(conversion, "exceeded max depth");
  conversion.depth += 1;
  const value = isMap(node)
    ? convertMap(conversion, node)
    : isSeq(node)
      ? convertList(conversion, node.items)
      : isScalar(node)
        ? scalarValue(conversion, node)
        : null;
  conversion.depth -= 1;
  if (anchor !== undefined && conversion.aliasDepth === 0) conversion.anchors.set(anchor, node);
  return value;
}

/** An alias is its node once more: values are changed in place later, so nothing may be shared. */
function convertAlias(conversion: Conversion, { source }: Alias): Value {
  if (!conversion.anchors.has(source)) return stop(conversion, `unknown anchor '${source}' referenced`);
  const node = conversion.anchors.get(source);
  if (node === undefined) return stop(conversion, `anchor '${source}' value contains itself`);
  conversion.aliasDepth += 1;
  const value = convert(conversion, node);
  conversion.aliasDepth -= 1;
  return value;
}

function convertList(conversion: Conversion, items: readonly unknown[]): Value[] {
  const list: Value[] = [];
  for (const item of items) list.push(item === null ? null : convert(conversion, item as Node));
  return list;
}

function convertMap(conversion: Conversion, node: YAMLMap): ValueMap {
  const map: ValueMap = new Map();
  for (const { key, value } of node.items) {
    if (isMergeKey(key)) {
      merge(conversion, map, value as Node | null);
      continue;
    }
    const name = key === null ? null : convert(conversion, key as Node);
    const text = keyText(name);
    if (text === undefined) stop(conversion, `unsupported map key of type: ${name === null ? "nil" : "collection"}`);
    else map.set(text, value === null || value === undefined ? null : convert(conversion, value as Node));
    if (conversion.fault !== undefined) break;
  }
  return map;
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === "<<" && key.type === Scalar.PLAIN;
}

/** `<<: *a` and `<<: [*a, *b]`: the keys of these maps, in the order of the reference (the first of a list wins). */
function merge(conversion: Conversion, into: ValueMap, node: Node | null): void {
  const value = node === null ? null : convert(conversion, node);
  const maps = Array.isArray(value) ? value.toReversed() : [value];
  for (const map of maps) {
    if (map instanceof Map) for (const [key, item] of map) into.set(key, item);
    else stop(conversion, "map merge requires map or sequence of maps as the value");
  }
}

/** A key as Go's conversion to JSON spells it: `false`, `12`; undefined for null and collections. */
function keyText(key: Value): string | undefined {
  if (typeof key === "string") return key;
  if (key === null || Array.isArray(key) || key instanceof Map) return undefined;
  return key instanceof NumberText ? key.text : String(key);
}

const words: ReadonlyMap<string, boolean | null> = new Map([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((w) => [w, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((w) => [w, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((w) => [w, null] as const),
]);

const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** What a scalar means: quoted and block scalars and those tagged `!!str` are text. */
function scalarValue(conversion: Conversion, node: Scalar): Value {
  const text = String(node.value ?? "");
  const tag = node.tag ?? "";
  if (tag.endsWith(":binary")) return Buffer.from(text, "base64").toString();
  if (tag.endsWith(":str")) return text;
  if (node.type !== Scalar.PLAIN && !/:(?:int|float|bool|null)$/.test(tag)) return text;
  const word = words.get(text);
  if (word !== undefined) return word;
  if (notFinite.test(text)) {
    const name = /nan/i.test(text) ? "NaN" : text.startsWith("-") ? "-Inf" : "+Inf";
    conversion.fault ??= new Fault(`json: unsupported value: ${name}`);
    return null;
  }
  return /^[-+.\d]/.test(text) ? (numberValue(text.replaceAll("_", "")) ?? text) : text;
}

/** Characters a number may have; longer ones are text. */
const numberLengthMax = 400;

/** A number in any of YAML 1.1's spellings; undefined: it is text. */
function numberValue(text: string): Value | undefined {
  if (text.length > numberLengthMax) return undefined;
  const match = /^([-+]?)(?:0[xX]([\da-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9]\d*))$/.exec(text);
  if (match !== null) {
    const [, sign, hex, binary, octal, decimal] = match;
    const digits =
      hex !== undefined
        ? `0x${hex}`
        : binary !== undefined
          ? `0b${binary}`
          : octal !== undefined
            ? `0o${octal}`
            : (decimal ?? "0");
    const magnitude = BigInt(digits);
    const value = sign === "-" ? -magnitude : magnitude;
    if (value >= -(1n << 63n) && value < 1n << 64n) {
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    }
  }
  if (!/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text)) return undefined;
  const float = Number(text);
  if (!Number.isFinite(float)) return undefined;
  return floatValue(float);
}

/** Go writes floats without a fraction as integers up to 1e21. */
function floatValue(float: number): Value {
  if (Number.isSafeInteger(float)) return float;
  const text = String(float);
  return /^-?\d+$/.test(text) ? BigInt(text) : new NumberText(text);
}
