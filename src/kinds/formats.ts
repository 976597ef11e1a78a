// Formats of names, keys and numbers, each as a function that lists what is wrong with a value in upstream's
// words (apimachinery util/validation); an empty list means the value is fine. Lengths are bytes of UTF-8.
import { limits } from "../config/limits.ts";
import type { NameFormat } from "./strategy.ts";

const label1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const qualifiedName = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${qualifiedName})?`;
const wildcard1123 = `\\*\\.${subdomain1123}`;
const cIdentifier = "[A-Za-z_][A-Za-z0-9_]*";
const percent = "[0-9]+%";
const httpHeader = "[-A-Za-z0-9]+";
const envName = "[-._a-zA-Z][-._a-zA-Z0-9]*";
const configKey = "[-._a-zA-Z0-9]+";
const httpPath = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const httpPathPattern = new RegExp(`^${httpPath}$`);

interface Format {
  readonly whole: RegExp;
  readonly message: string;
}

function format(pattern: string, what: string, ...examples: readonly string[]): Format {
  // eslint-disable-next-line no-restricted-syntax -- formats are made while the module loads
  return { whole: new RegExp(`^${pattern}$`), message: patternMessage(what, pattern, ...examples) };
}

/** Text of a value that does not match `pattern`, with examples of values that do. */
export function patternMessage(what: string, pattern: string, ...examples: readonly string[]): string {
  if (examples.length === 0) return `${what} (regex used for validation is '${pattern}')`;
  return `${what} (e.g. ${examples.map((e) => `'${e}', `).join(" or ")}regex used for validation is '${pattern}')`;
}

const qualifiedText =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const formats = {
  label1123: format(
    label1123,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    "my-name",
    "123-abc",
  ),
  subdomain1123: format(
    subdomain1123,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    "example.com",
  ),
  wildcard1123: format(
    wildcard1123,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
  ),
  label1035: format(
    label1035,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    "my-name",
    "abc-123",
  ),
  qualifiedName: format(qualifiedName, qualifiedText, "MyName", "my.name", "123-abc"),
  labelValue: format(
    labelValue,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    "MyValue",
    "my_value",
    "12345",
  ),
  cIdentifier: format(
    cIdentifier,
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
  ),
  percent: format(percent, "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"),
  httpHeader: format(httpHeader, "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"),
  envName: format(
    envName,
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
  ),
  configKey: format(
    configKey,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
  ),
} as const;

/** Size in UTF-8, as upstream counts. */
export function bytesOf(value: string): number {
  return Buffer.byteLength(value);
}

/** Text of a value longer than `bytesMax`. */
export function lengthMessage(bytesMax: number): string {
  return `must be no more than ${bytesMax} characters`;
}

/** Text of a number outside `low..high`. */
export function rangeMessage(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

function check(value: string, rule: Format, bytesMax: number): string[] {
  const faults: string[] = [];
  if (bytesOf(value) > bytesMax) faults.push(lengthMessage(bytesMax));
  if (value.length > limits.patternCharsMax && faults.length > 0) return faults;
  if (!rule.whole.test(value)) faults.push(rule.message);
  return faults;
}

/** RFC 1123 label, at most 63 bytes. */
export function isDns1123Label(value: string): string[] {
  return check(value, formats.label1123, 63);
}

/** RFC 1123 subdomain, at most 253 bytes; its labels are not limited to 63. */
export function isDns1123Subdomain(value: string): string[] {
  return check(value, formats.subdomain1123, 253);
}

/** `*.` and an RFC 1123 subdomain. */
export function isWildcardDns1123Subdomain(value: string): string[] {
  return check(value, formats.wildcard1123, 253);
}

/** RFC 1035 label, at most 63 bytes. */
export function isDns1035Label(value: string): string[] {
  return check(value, formats.label1035, 63);
}

/** Name with an optional `prefix/`: keys of labels, annotations, conditions, extended resources. */
export function isQualifiedName(value: string): string[] {
  const parts = value.split("/", 3);
  const faults: string[] = [];
  if (parts.length > 2) {
    return [
      `a qualified name ${formats.qualifiedName.message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts[parts.length - 1] ?? "";
  if (parts.length === 2) {
    const prefix = parts[0] ?? "";
    if (prefix === "") faults.push("prefix part must be non-empty");
    else for (const fault of isDns1123Subdomain(prefix)) faults.push(`prefix part ${fault}`);
  }
  if (name === "") faults.push("name part must be non-empty");
  else if (bytesOf(name) > 63) faults.push(`name part ${lengthMessage(63)}`);
  if (name.length <= limits.patternCharsMax && !formats.qualifiedName.whole.test(name)) {
    faults.push(`name part ${formats.qualifiedName.message}`);
  }
  return faults;
}

/** Value of a label: empty, or like a name of at most 63 bytes. */
export function isLabelValue(value: string): string[] {
  return check(value, formats.labelValue, 63);
}

/** Identifier of C. */
export function isCIdentifier(value: string): string[] {
  return check(value, formats.cIdentifier, Number.POSITIVE_INFINITY);
}

/** `<digits>%`. */
export function isPercent(value: string): string[] {
  return check(value, formats.percent, Number.POSITIVE_INFINITY);
}

/** Name of an HTTP header. */
export function isHttpHeaderName(value: string): string[] {
  return check(value, formats.httpHeader, Number.POSITIVE_INFINITY);
}

/** Name of an environment variable. */
export function isEnvVarName(value: string): string[] {
  return [...check(value, formats.envName, Number.POSITIVE_INFINITY), ...leavesFolder(value)];
}

/** Key of a config map or secret. */
export function isConfigMapKey(value: string): string[] {
  return [...check(value, formats.configKey, 253), ...leavesFolder(value)];
}

function leavesFolder(value: string): string[] {
  if (value === ".") return ["must not be '.'"];
  if (value === "..") return ["must not be '..'"];
  if (value.startsWith("..")) return ["must not start with '..'"];
  return [];
}

/** TCP or UDP port number. */
export function isPortNumber(value: number | bigint): string[] {
  return value >= 1 && value <= 65535 ? [] : [rangeMessage(1, 65535)];
}

/** IANA service name. */
export function isPortName(value: string): string[] {
  const faults: string[] = [];
  if (bytesOf(value) > 15) faults.push(lengthMessage(15));
  if (!/^[-a-z0-9]+$/.test(value))
    faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(value)) faults.push("must contain at least one letter or number (a-z, 0-9)");
  if (value.includes("--")) faults.push("must not contain consecutive hyphens");
  if (value.startsWith("-") || value.endsWith("-")) faults.push("must not begin or end with a hyphen");
  return faults;
}

/** User or group id of a container. */
export function isUserId(value: number | bigint): string[] {
  return value >= 0 && value <= 2147483647 ? [] : [rangeMessage(0, 2147483647)];
}

/** Characters of the path of a URL. */
export function isHttpPath(value: string): string[] {
  return httpPathPattern.test(value) ? [] : [patternMessage("Invalid path", httpPath)];
}

/** A name that can be one segment of a URL's path. */
export function isPathSegment(value: string): string[] {
  if (value === "." || value === "..") return [`may not be '${value}'`];
  return isPathSegmentPrefix(value);
}

/** A beginning of a name that can be one segment of a URL's path. */
export function isPathSegmentPrefix(value: string): string[] {
  return ["/", "%"].filter((mark) => value.includes(mark)).map((mark) => `may not contain '${mark}'`);
}

/** What is wrong with a name (or with a generateName, of which it is the beginning) of a kind. */
export function isName(value: string, nameFormat: NameFormat, prefix: boolean): string[] {
  if (nameFormat === "path-segment") return prefix ? isPathSegmentPrefix(value) : isPathSegment(value);
  const name = prefix && value.endsWith("-") ? `${value.slice(0, -1)}a` : value;
  switch (nameFormat) {
    case "dns1123-subdomain":
      return isDns1123Subdomain(name);
    case "dns1123-label":
      return isDns1123Label(name);
    case "dns1035-label":
      return isDns1035Label(name);
  }
}

/** Upstream's text for an integer below zero. */
export const nonNegativeMessage = "must be greater than or equal to 0";

/** Upstream's text for a field that changed and may not. */
export const immutableMessage = "field is immutable";
