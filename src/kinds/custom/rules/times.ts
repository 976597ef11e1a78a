// Parts of times in zones, and their texts.
import { formatInstant } from "../../../api/time.ts";
import { Fault, type Frame, type Result, type Timestamp } from "./values.ts";

/** A date on the calendar, as milliseconds since 1970 in its own zone. */
type Civil = Date;

type Part = (frame: Frame, time: Timestamp, zone: string) => Result;

const dayMs = 86_400_000;

function part(read: (date: Civil, time: Timestamp) => number): Part {
  return (frame, time, zone) => {
    const date = civilIn(frame, time, zone);
    return date instanceof Fault ? date : BigInt(read(date, time));
  };
}

/** By the names of their functions. Months, days of the month and of the year begin with 0, but for getDate(). */
export const timeParts: ReadonlyMap<string, Part> = new Map<string, Part>([
  ["getFullYear", part((date) => date.getUTCFullYear())],
  ["getMonth", part((date) => date.getUTCMonth())],
  ["getDate", part((date) => date.getUTCDate())],
  ["getDayOfMonth", part((date) => date.getUTCDate() - 1)],
  ["getDayOfWeek", part((date) => date.getUTCDay())],
  ["getDayOfYear", part(dayOfYear)],
  ["getHours", part((date) => date.getUTCHours())],
  ["getMinutes", part((date) => date.getUTCMinutes())],
  ["getSeconds", part((date) => date.getUTCSeconds())],
  ["getMilliseconds", part((date) => date.getUTCMilliseconds())],
]);

function dayOfYear(date: Civil): number {
  const first = new Date(date);
  first.setUTCMonth(0, 1);
  first.setUTCHours(0, 0, 0, 0);
  return Math.floor((date.getTime() - first.getTime()) / dayMs);
}

function millisOf({ nanos }: Timestamp): number {
  const ms = nanos / 1_000_000n;
  return Number(nanos < 0n && ms * 1_000_000n !== nanos ? ms - 1n : ms);
}

/** Making a formatter for a named zone takes about as long as so many units. */
const zoneUnits = 10_000;

function civilIn(frame: Frame, time: Timestamp, zone: string): Civil | Fault {
  frame.spend(10);
  const ms = millisOf(time);
  if (zone === "" || zone === "UTC") return new Date(ms);
  const fixed = /^([+-]?)(\d\d):(\d\d)$/.exec(zone.slice(0, 7));
  if (fixed !== null && zone.length < 7) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    return new Date(ms + (fixed[1] === "-" ? -minutes : minutes) * 60_000);
  }
  frame.spend(zoneUnits);
  const unknown = new Fault(`unknown time zone ${zone.slice(0, 64)}`);
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(zone)) return unknown;
  try {
    return new Date(ms + offsetOf(ms, zone));
  } catch (error) {
    if (error instanceof RangeError) return unknown;
    throw error;
  }
}

/** How far a zone is ahead of UTC at a time, in milliseconds. */
function offsetOf(ms: number, zone: string): number {
  const options = { timeZone: zone, hourCycle: "h23", era: "short" } as const;
  const digits = { year: "numeric", month: "numeric", day: "numeric" } as const;
  const clock = { hour: "numeric", minute: "numeric", second: "numeric" } as const;
  const format = new Intl.DateTimeFormat("en-US", { ...options, ...digits, ...clock });
  const read = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const at = (name: Intl.DateTimeFormatPartTypes): number => read.get(name) ?? 0;
  const local = new Date(0);
  local.setUTCFullYear(at("year"), at("month") - 1, at("day"));
  local.setUTCHours(at("hour"), at("minute"), at("second"));
  return local.getTime() - Math.floor(ms / 1000) * 1000;
}

/** RFC 3339 in UTC, with no more digits than the time has. */
export function timestampText(time: Timestamp): string {
  const seconds = Math.floor(millisOf(time) / 1000);
  const text = formatInstant({ seconds, nanos: 0 }, "Time") ?? "";
  const nanos = time.nanos - BigInt(seconds) * 1_000_000_000n;
  if (nanos === 0n) return text;
  const fraction = String(nanos).padStart(9, "0");
  let end = 9;
  while (fraction.charCodeAt(end - 1) === 48) end -= 1;
  return `${text.slice(0, -1)}.${fraction.slice(0, end)}Z`;
}
