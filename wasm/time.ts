// Times in their canonical form.

/** Bytes of `2006-01-02T15:04:05Z` and `2006-01-02T15:04:05.000000Z`. */
export const plainLength: usize = 20;
export const microLength: usize = 27;

/** A number of two digits; below zero: it is none. */
function two(from: usize): i32 {
  const tens = <i32>load<u8>(from) - 0x30;
  const ones = <i32>load<u8>(from + 1) - 0x30;
  return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -10_000 : tens * 10 + ones;
}

/** Days of a year before each month, and of the month, in years that have 365. */
const daysBefore = memory.data<u16>([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]);
const daysIn = memory.data<u8>([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);

/** Seconds since 1970 of a time of a known length; -1: it has another form, is none, or is before 1970. */
export function secondsAt(start: usize, length: usize): i64 {
  if (length === microLength) {
    if (load<u8>(start + 19) !== 0x2e) return -1;
    for (let digit: usize = 20; digit < 26; digit += 1) {
      if (load<u8>(start + digit) < 0x30 || load<u8>(start + digit) > 0x39) return -1;
    }
  }
  const hasMarks =
    load<u8>(start + 4) === 0x2d &&
    load<u8>(start + 7) === 0x2d &&
    load<u8>(start + 10) === 0x54 &&
    load<u8>(start + 13) === 0x3a &&
    load<u8>(start + 16) === 0x3a &&
    load<u8>(start + length - 1) === 0x5a;
  if (!hasMarks) return -1;
  const year = two(start) * 100 + two(start + 2);
  const month = two(start + 5);
  const day = two(start + 8);
  const hour = two(start + 11);
  const minute = two(start + 14);
  const second = two(start + 17);
  if (year < 1970 || month < 1 || month > 12 || day < 1) return -1;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return -1;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (day > <i32>load<u8>(daysIn + <usize>(month - 1)) + (month === 2 && isLeap ? 1 : 0)) return -1;
  const before = year - 1;
  const leaps = before / 4 - before / 100 + before / 400 - 477;
  const ofYear = <i32>load<u16>(daysBefore + ((<usize>(month - 1)) << 1)) + (month > 2 && isLeap ? 1 : 0);
  const days = (year - 1970) * 365 + leaps + ofYear + day - 1;
  return <i64>days * 86_400 + <i64>(hour * 3600 + minute * 60 + second);
}
