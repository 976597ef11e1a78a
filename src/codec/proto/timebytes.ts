// Times in their canonical form, read from bytes.

/** Of `2006-01-02T15:04:05Z`. */
export const plainLength = 20;
/** Of `2006-01-02T15:04:05.000000Z`. */
export const microLength = 27;
const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const daysIn = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Seconds since 1970 of the time from `start` to `end`; -1: it has another form, is none, or is before 1970. */
export function secondsAt(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length !== plainLength && length !== microLength) return -1;
  if (length === microLength && (bytes[start + 19] !== 46 || !areDigits(bytes, start + 20, end - 1))) return -1;
  const marks =
    bytes[start + 4] === 45 &&
    bytes[start + 7] === 45 &&
    bytes[start + 10] === 84 &&
    bytes[start + 13] === 58 &&
    bytes[start + 16] === 58 &&
    bytes[end - 1] === 90;
  if (!marks) return -1;
  const year = two(bytes, start) * 100 + two(bytes, start + 2);
  const month = two(bytes, start + 5);
  const day = two(bytes, start + 8);
  const hour = two(bytes, start + 11);
  const minute = two(bytes, start + 14);
  const second = two(bytes, start + 17);
  if (!(year >= 1970 && month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59 && second <= 59)) return -1;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (day > (month === 2 && !isLeap ? 28 : (daysIn[month - 1] ?? 0))) return -1;
  const before = year - 1;
  const leaps = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400) - 477;
  const days = (year - 1970) * 365 + leaps + (daysBefore[month - 1] ?? 0) + (month > 2 && isLeap ? 1 : 0) + day - 1;
  return days * 86_400 + hour * 3600 + minute * 60 + second;
}

function areDigits(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) if (!((bytes[at] ?? 0) >= 48 && (bytes[at] ?? 0) <= 57)) return false;
  return true;
}

/** A number of two digits; NaN: it is none. */
function two(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] ?? 0) - 48;
  const ones = (bytes[at + 1] ?? 0) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}
