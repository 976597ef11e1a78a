// Times as upstream reads and writes them (meta/v1 Time and MicroTime over Go's time package). Own arithmetic on
// the civil calendar: Date accepts what RFC 3339 and Go refuse. Errors are Go's texts, because clients see them.

/** Go's layouts, as its error texts contain them. */
const layouts = {
  Time: "2006-01-02T15:04:05Z07:00",
  MicroTime: "2006-01-02T15:04:05.000000Z07:00",
} as const;

/** A point in time: seconds since 1970 and the nanoseconds into that second. */
export interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

/** The error of a text: Go's message. */
export class TimeError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** Seconds since 1970 of Go's zero time, 0001-01-01T00:00:00Z, which JSON writes as null. */
export const zeroTimeSeconds = -62_135_596_800;

/** Milliseconds since 1970 of an RFC 3339 text; undefined when it is none. */
export function parseTime(text: string): number | undefined {
  const instant = parseInstant(text, "Time");
  return instant instanceof TimeError ? undefined : instant.seconds * 1000 + Math.floor(instant.nanos / 1e6);
}

/** The canonical form of Time: RFC 3339, UTC, whole seconds (milliseconds are cut off). */
export function formatTime(ms: number): string {
  return formatSeconds(Math.floor(ms / 1000), "Z");
}

/** The canonical form of MicroTime: exactly six fraction digits. */
export function formatMicroTime(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const micros = Math.floor((ms - seconds * 1000) * 1000);
  return formatSeconds(seconds, `.${String(micros).padStart(6, "0")}Z`);
}

/** Years JSON can show: 0000-01-01T00:00:00Z up to the end of 9999, in seconds since 1970. */
const secondsMin = -62_167_219_200;
const secondsMax = 253_402_300_799;

/** The canonical text of an instant; undefined for one whose year JSON cannot show. */
export function formatInstant({ seconds, nanos }: Instant, type: "Time" | "MicroTime"): string | undefined {
  if (seconds < secondsMin || seconds > secondsMax) return undefined;
  if (type === "Time") return formatSeconds(seconds, "Z");
  return formatSeconds(seconds, `.${String(Math.floor(nanos / 1000)).padStart(6, "0")}Z`);
}

/** The canonical text of a client's time; undefined for Go's zero time. */
export function canonicalTime(text: string, type: "Time" | "MicroTime"): string | undefined | TimeError {
  if (type === "Time" && isCanonicalTime(text)) return text;
  const instant = parseInstant(text, type);
  if (instant instanceof TimeError) return instant;
  if (instant.seconds === zeroTimeSeconds && instant.nanos === 0) return undefined;
  if (type === "Time") return formatSeconds(instant.seconds, "Z");
  return formatSeconds(instant.seconds, `.${String(Math.floor(instant.nanos / 1000)).padStart(6, "0")}Z`);
}

/** True for a text that needs no work: the common case of the decoder. Days after the 28th go the long way. */
function isCanonicalTime(text: string): boolean {
  return /^[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/.test(text);
}

/** Where the text is being read. */
interface Cursor {
  readonly text: string;
  readonly layout: string;
  at: number;
}

/** Reads a text by one of the layouts. Go's leniencies included: one-digit hours, any fraction after the seconds. */
export function parseInstant(text: string, type: "Time" | "MicroTime"): Instant | TimeError {
  const cursor: Cursor = { text, layout: layouts[type], at: 0 };
  const year = /^\d{4}/.test(text) ? Number(text.slice(0, 4)) : mismatch(cursor, "2006");
  if (year instanceof TimeError) return year;
  cursor.at = 4;
  const month = part(cursor, "-", "01", 2, 1, 12, "month");
  if (month instanceof TimeError) return month;
  const day = part(cursor, "-", "02", 2, 0, 99, "day");
  if (day instanceof TimeError) return day;
  const hour = part(cursor, "T", "15", 1, 0, 23, "hour");
  if (hour instanceof TimeError) return hour;
  const minute = part(cursor, ":", "04", 2, 0, 59, "minute");
  if (minute instanceof TimeError) return minute;
  const second = part(cursor, ":", "05", 2, 0, 59, "second");
  if (second instanceof TimeError) return second;
  const nanos = fraction(cursor, type);
  if (nanos instanceof TimeError) return nanos;
  const offset = zone(cursor);
  if (offset instanceof TimeError) return offset;
  if (cursor.at < text.length)
    return new TimeError(`parsing time ${quote(text)}: extra text: ${quote(text.slice(cursor.at))}`);
  if (day < 1 || day > daysIn(year, month)) return new TimeError(`parsing time ${quote(text)}: day out of range`);
  const days = daysFromCivil(year, month, day);
  return { seconds: days * 86_400 + hour * 3600 + minute * 60 + second - offset, nanos };
}

function mismatch(cursor: Cursor, element: string): TimeError {
  const rest = cursor.text.slice(cursor.at);
  return new TimeError(
    `parsing time ${quote(cursor.text)} as ${quote(cursor.layout)}: cannot parse ${quote(rest)} as ${quote(element)}`,
  );
}

function outOfRange(cursor: Cursor, what: string): TimeError {
  return new TimeError(`parsing time ${quote(cursor.text)}: ${what} out of range`);
}

/** A literal and a two-digit number; `digitsMin` 1 also takes one digit. */
function part(
  cursor: Cursor,
  literal: string,
  element: string,
  digitsMin: number,
  min: number,
  max: number,
  what: string,
): number | TimeError {
  if (cursor.text[cursor.at] !== literal) return mismatch(cursor, literal);
  cursor.at += 1;
  const tens = digit(cursor.text, cursor.at);
  const ones = digit(cursor.text, cursor.at + 1);
  if (tens < 0 || (ones < 0 && digitsMin === 2)) return mismatch(cursor, element);
  const value = ones < 0 ? tens : tens * 10 + ones;
  cursor.at += ones < 0 ? 1 : 2;
  return value < min || value > max ? outOfRange(cursor, what) : value;
}

function digit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57 ? code - 48 : -1;
}

/** Nanoseconds. Time takes any fraction or none, MicroTime exactly six digits. */
function fraction(cursor: Cursor, type: "Time" | "MicroTime"): number | TimeError {
  const lead = cursor.text[cursor.at];
  const separated = lead === "." || lead === ",";
  let end = cursor.at + 1;
  while (digit(cursor.text, end) >= 0) end += 1;
  const count = end - cursor.at - 1;
  if (type === "MicroTime") {
    if (!separated || count < 6) return mismatch(cursor, ".000000");
    end = cursor.at + 7;
  } else if (!separated || count === 0) {
    return 0;
  }
  const digits = cursor.text.slice(cursor.at + 1, Math.min(end, cursor.at + 10));
  cursor.at = end;
  return Number(digits.padEnd(9, "0"));
}

/** Seconds east of UTC. */
function zone(cursor: Cursor): number | TimeError {
  const { text, at } = cursor;
  if (text[at] === "Z") {
    cursor.at += 1;
    return 0;
  }
  const match = /^([+-])(\d\d):(\d\d)/.exec(text.slice(at, at + 6));
  if (match === null) return mismatch(cursor, "Z07:00");
  const hours = Number(match[2]);
  const minutes = Number(match[3]);
  if (hours > 24) return outOfRange(cursor, "time zone offset hour");
  if (minutes > 60) return outOfRange(cursor, "time zone offset minute");
  cursor.at += 6;
  return (match[1] === "-" ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** Quotes as Go's time package does: other characters than printable ASCII as bytes. */
function quote(text: string): string {
  let quoted = "";
  for (const char of text) {
    if (char === '"' || char === "\\") quoted += `\\${char}`;
    else if (char >= " " && char < "\x7f") quoted += char;
    else for (const byte of Buffer.from(char)) quoted += `\\x${byte.toString(16).padStart(2, "0")}`;
  }
  return `"${quoted}"`;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days since 1970-01-01 of a date of the proleptic Gregorian calendar. Years start in March, so leap days end one. */
function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function formatSeconds(seconds: number, tail: string): string {
  const days = Math.floor(seconds / 86_400);
  const rest = seconds - days * 86_400;
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9);
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const date = `${year < 0 ? "-" : ""}${String(Math.abs(year)).padStart(4, "0")}-${two(month)}-${two(day)}`;
  return `${date}T${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}${tail}`;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
