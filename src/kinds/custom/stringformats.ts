// The formats of texts that are checked (go-openapi's registry, as far as upstream supports it); others are ignored.
// Dashes in their names do not count. Patterns are linear, and long texts are refused before they are looked at.
import { parseDuration } from "../../api/duration.ts";
import { parseAddress, parseCidr } from "../address.ts";
import { isMailAddress } from "./mailaddress.ts";

/** A format: its name as messages have it, and who has it. */
export interface StringFormat {
  readonly name: string;
  readonly test: (text: string) => boolean;
}

/** Longer texts have none of the short formats. */
const charsMax = 4096;

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const uuid3 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const uuid4 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const uuid5 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const creditCard =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;
const hexColor = /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i;
const ssn = /^\d{3}[- ]?\d{2}[- ]?\d{4}$/;
const mac =
  /^(?:[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?::[0-9a-f]{2}){7}|(?::[0-9a-f]{2}){19}|(?:-[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){7}|(?:-[0-9a-f]{2}){19})|[0-9a-f]{4}(?:(?:\.[0-9a-f]{4}){2}|(?:\.[0-9a-f]{4}){3}|(?:\.[0-9a-f]{4}){9}))$/i;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const rgb =
  /^rgb\([\t\n\f\r ]*(\d{1,3})[\t\n\f\r ]*,[\t\n\f\r ]*(\d{1,3})[\t\n\f\r ]*,[\t\n\f\r ]*(\d{1,3})[\t\n\f\r ]*\)$/;

type Test = (text: string) => boolean;

const tests: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["bsonobjectid", (text) => /^[0-9a-f]{24}$/i.test(text)],
  ["uri", isRequestUri],
  ["email", (text) => isMailAddress(text)],
  ["hostname", isHostname],
  ["ipv4", (text) => text.includes(".") && parseAddress(text) !== undefined],
  ["ipv6", isIpv6],
  ["cidr", (text) => parseCidr(text) !== undefined],
  ["mac", (text) => mac.test(text)],
  ["uuid", (text) => uuid.test(text)],
  ["uuid3", (text) => uuid3.test(text)],
  ["uuid4", (text) => uuid4.test(text)],
  ["uuid5", (text) => uuid5.test(text)],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", (text) => text.length === 11 && ssn.test(text)],
  ["hexcolor", (text) => hexColor.test(text)],
  ["rgbcolor", isRgbColor],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
]);

const all: ReadonlyMap<string, Test> = new Map<string, Test>([
  ...[...tests].map(([name, test]) => [name, (text: string) => text.length <= charsMax && test(text)] as const),
  ["byte", (text: string) => text.length % 4 === 0 && base64.test(text)] as const,
  ["password", () => true] as const,
]);

const known = new Map<string, StringFormat>();

/** The format of a name; undefined: it is not checked. */
export function stringFormat(name: string): StringFormat | undefined {
  const test = all.get(name.replaceAll("-", ""));
  if (test === undefined) return undefined;
  // One spelling of `date-time` for all, and as many as there are dashes to put: kept as far as is usual.
  const format = known.get(name) ?? { name, test };
  if (name.length < 20 && known.size < 100) known.set(name, format);
  return format;
}

function isIpv6(text: string): boolean {
  if (!text.includes(":")) return false;
  return parseAddress(text) !== undefined;
}

const hostLabel = /^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]*[a-zA-Z0-9\p{S}\p{L}])?$/u;
/** A name without dots: dashes stand single, and are at most one before the part that ends it. */
const lonelyLabel = /^[a-zA-Z0-9\p{S}\p{L}]-?[a-zA-Z0-9\p{S}\p{L}]{0,62}$/u;
const topLabel = /^[a-zA-Z\p{L}]{2,63}$/u;

function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255) return false;
  const labels = text.split(".");
  if (labels.some((label) => Buffer.byteLength(label) > 63)) return false;
  if (labels.length === 1) return lonelyLabel.test(text);
  const top = labels.pop() ?? "";
  return topLabel.test(top) && labels.every((label) => hostLabel.test(label));
}

/** An absolute URI or an absolute path, as Go's net/url reads the target of a request. */
function isRequestUri(text: string): boolean {
  if (text === "" || /[\u0000-\u001f\u007f]/.test(text)) return false;
  if (text === "*") return true;
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text);
  const rest = scheme === null ? text : text.slice(scheme[0].length);
  if (scheme === null && /^[^/]*:/.test(text) && !text.startsWith("/")) return false;
  const path = rest.split("?", 1)[0] ?? "";
  // What has a scheme and no slash behind it is opaque, and fine.
  if (!path.startsWith("/")) return scheme !== null;
  if (!path.startsWith("//") || (scheme === null && path.startsWith("///"))) return isEscaped(path);
  if (scheme === null) return isEscaped(path);
  const authority = /^[^/]*/.exec(path.slice(2))?.[0] ?? "";
  return isAuthority(authority) && isEscaped(path.slice(2 + authority.length));
}

function isEscaped(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text);
}

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf("@");
  const user = at < 0 ? "" : authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || !isEscaped(user)) return false;
  const host = authority.slice(at + 1);
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    return end > 0 && isPort(host.slice(end + 1)) && isEscaped(host.slice(0, end));
  }
  const colon = host.lastIndexOf(":");
  if (colon >= 0 && !isPort(host.slice(colon))) return false;
  // Of escapes, a host may have those of characters beyond ASCII only.
  if (/%(?![89a-fA-F][0-9a-fA-F])/.test(host)) return false;
  return !/[\s"<>\\^`{|}]/.test(host.replace(/["<>]/g, ""));
}

function isPort(text: string): boolean {
  return text === "" || /^:\d*$/.test(text);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^(?:\d{9}X|\d{10})$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 10; index += 1) sum += (index + 1) * (digits[index] === "X" ? 10 : Number(digits[index]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < 12; index += 1) sum += (index % 2 === 0 ? 1 : 3) * Number(digits[index]);
  return Number(digits[12]) === (10 - (sum % 10)) % 10;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, "");
  if (!creditCard.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    sum += index % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const parts = rgb.exec(text)?.slice(1);
  return parts?.every((part) => !/^0\d/.test(part) && Number(part) <= 255) === true;
}

function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return month >= 1 && month <= 12 && day >= 1 && day <= days;
}

const time = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/;

function isDateTime(text: string): boolean {
  if (text.length < 4) return false;
  const [date = "", clock] = text.toLowerCase().split("t");
  if (clock === undefined || !isDate(date)) return false;
  const parts = time.exec(clock);
  return parts !== null && (parts[1] ?? "") <= "23" && (parts[2] ?? "") <= "59" && (parts[3] ?? "") <= "59";
}

/** Words that name a unit, whole; others begin with one of the long names. */
const units: ReadonlySet<string> = new Set(["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"]);
const longUnit = /^(?:nano|micro|milli|sec|min|hour|day|week)/;

/** As Go's time package has it, or numbers with words: `22 ns`, `1 day`. */
function isDuration(text: string): boolean {
  if (parseDuration(text) !== undefined) return true;
  let found = false;
  const parts = text.split(/(\d+)/);
  for (let index = 1; index < parts.length; index += 2) {
    const word = /^\s*([A-Za-zµ]+)/.exec(parts[index + 1] ?? "")?.[1];
    if (word === undefined) continue;
    const digits = parts[index] ?? "";
    if (digits.length > 25 || BigInt(digits) >= 2n ** 63n) return false;
    const name = word.toLowerCase();
    if (units.has(name) || longUnit.test(name)) found = true;
  }
  return found;
}
