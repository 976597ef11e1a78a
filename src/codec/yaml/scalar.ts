// The values of YAML scalars: YAML 1.1's words and numbers as upstream's reader resolves them, then converted to what
// JSON can express. Numbers lose their spelling, keys become text.
import { NumberText, type Value } from "../../api/value.ts";
import { Fault } from "../json/fault.ts";

const words: ReadonlyMap<string, boolean | null> = new Map([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((w) => [w, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((w) => [w, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((w) => [w, null] as const),
]);

const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** Characters a number may have; longer ones are text. */
const numberLengthMax = 400;

/** The value of a scalar. `tag` is as written (`!!str`, `!local`), empty without one; `plain`: not quoted, no block. */
export function scalarValue(text: string, tag: string, plain: boolean): Value | Fault {
  const kind = tag === "" ? "" : tag.replace(/^!!|^!<tag:yaml\.org,2002:(.*)>$/, "$1");
  if (kind === "binary") return Buffer.from(text, "base64").toString();
  if (kind === "str" || (!plain && !/^(?:int|float|bool|null)$/.test(kind))) return text;
  if (!/^(?:$|[-+.\d~yYnNtTfFoO])/.test(text)) return text;
  const word = words.get(text);
  if (word !== undefined) return word;
  if (notFinite.test(text)) {
    const name = /nan/i.test(text) ? "NaN" : text.startsWith("-") ? "-Inf" : "+Inf";
    return new Fault(`json: unsupported value: ${name}`);
  }
  return /^[-+.\d]/.test(text) ? (numberValue(text.replaceAll("_", "")) ?? text) : text;
}

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
            : decimal;
    const magnitude = BigInt(digits ?? "0");
    const value = sign === "-" ? -magnitude : magnitude;
    if (value >= -(1n << 63n) && value < 1n << 64n) {
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    }
  }
  if (!/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text)) return undefined;
  const float = Number(text);
  return Number.isFinite(float) ? floatValue(float) : undefined;
}

/** Go writes floats without a fraction as integers up to 1e21. */
function floatValue(float: number): Value {
  if (Number.isSafeInteger(float)) return float + 0;
  const text = String(float);
  return /^-?\d+$/.test(text) ? BigInt(text) : new NumberText(text);
}

/** A key as Go's conversion to JSON spells it: `false`, `12`; undefined for null and collections. */
export function keyText(key: Value): string | undefined {
  if (typeof key === "string") return key;
  if (key === null || Array.isArray(key) || key instanceof Map) return undefined;
  return key instanceof NumberText ? key.text : String(key);
}
