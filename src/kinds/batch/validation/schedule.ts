// Schedules of CronJobs: the five fields of cron with the extensions of robfig/cron v3 (its standard parser), whose
// words the faults are in. Only whether a schedule is good matters here; nothing runs by it.

interface FieldRange {
  readonly low: number;
  readonly high: number;
  readonly names: readonly string[];
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/** Minute, hour, day of month, month, day of week. Months count from 1, days of the week from 0. */
const ranges: readonly FieldRange[] = [
  { low: 0, high: 59, names: [] },
  { low: 0, high: 23, names: [] },
  { low: 1, high: 31, names: [] },
  { low: 1, high: 12, names: months },
  { low: 0, high: 6, names: days },
];
const macros = new Set(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]);
const timeZonePrefix = /^(?:TZ|CRON_TZ)=/;
/** Go's units of durations, in nanoseconds. */
const units = new Map([
  ["ns", 1],
  ["us", 1e3],
  ["\u00b5s", 1e3],
  ["\u03bcs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
  ["m", 60e9],
  ["h", 3600e9],
]);
const durationMax = 2 ** 63;

/** What is wrong with a schedule, or undefined. */
export function scheduleFault(schedule: string): string | undefined {
  if (schedule === "") return "empty spec string";
  let spec = schedule;
  if (timeZonePrefix.test(spec)) {
    const space = spec.indexOf(" ");
    // Upstream's parser panics on a zone without a schedule; here it is a fault like others.
    const zone = spec.slice(spec.indexOf("=") + 1, space < 0 ? spec.length : space);
    if (!isTimeZone(zone)) return `provided bad location ${zone}: unknown time zone ${zone}`;
    spec = space < 0 ? "" : spec.slice(space).trim();
  }
  if (spec.startsWith("@")) return descriptorFault(spec);
  const fields = spec.split(/\s+/).filter((field) => field !== "");
  if (fields.length !== ranges.length) {
    return `expected exactly ${ranges.length} fields, found ${fields.length}: [${fields.join(" ")}]`;
  }
  for (const [i, range] of ranges.entries()) {
    for (const part of (fields[i] ?? "").split(",")) {
      // Empty parts of a list are skipped, as Go's FieldsFunc does.
      const fault = part === "" ? undefined : partFault(part, range);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

function isTimeZone(zone: string): boolean {
  if (zone === "" || zone === "UTC" || zone === "Local") return true;
  // Names are paths below the zone database there: no way out of it.
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

function descriptorFault(spec: string): string | undefined {
  if (macros.has(spec)) return undefined;
  const every = "@every ";
  if (!spec.startsWith(every)) return `unrecognized descriptor: ${spec}`;
  const fault = durationFault(spec.slice(every.length));
  return fault === undefined ? undefined : `failed to parse duration ${spec}: ${fault}`;
}

/** What is wrong with a duration in Go's form. */
function durationFault(text: string): string | undefined {
  const wrong = `time: invalid duration ${JSON.stringify(text)}`;
  let rest = /^[+-]/.test(text) ? text.slice(1) : text;
  if (rest === "0") return undefined;
  if (rest === "") return wrong;
  let total = 0;
  while (rest !== "") {
    const number = /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)/.exec(rest)?.[0];
    if (number === undefined) return wrong;
    rest = rest.slice(number.length);
    const unit = /^[^0-9.]+/.exec(rest)?.[0];
    if (unit === undefined) return `time: missing unit in duration ${JSON.stringify(text)}`;
    const size = units.get(unit);
    if (size === undefined) return `time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`;
    rest = rest.slice(unit.length);
    total += Number(number) * size;
    if (total >= durationMax) return wrong;
  }
  return undefined;
}

/** One part of a list: `*`, `?`, `n`, `n-m`, each with `/step`. */
function partFault(part: string, range: FieldRange): string | undefined {
  const [span = "", stepText, ...moreSteps] = part.split("/");
  const [startText = "", endText, ...moreEnds] = span.split("-");
  let start = range.low;
  let end = range.high;
  if (startText !== "*" && startText !== "?") {
    const first = numberOf(startText, range.names);
    if (typeof first === "string") return first;
    start = first;
    end = first;
    if (moreEnds.length > 0) return `too many hyphens: ${part}`;
    if (endText !== undefined) {
      const last = numberOf(endText, range.names);
      if (typeof last === "string") return last;
      end = last;
    }
  }
  let step = 1;
  if (moreSteps.length > 0) return `too many slashes: ${part}`;
  if (stepText !== undefined) {
    const given = naturalOf(stepText);
    if (typeof given === "string") return given;
    step = given;
    // `n/step` means `n-max/step`.
    if (endText === undefined) end = range.high;
  }
  if (start < range.low) return `beginning of range (${start}) below minimum (${range.low}): ${part}`;
  if (end > range.high) return `end of range (${end}) above maximum (${range.high}): ${part}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${part}`;
  if (step === 0) return `step of range should be a positive number: ${part}`;
  return undefined;
}

function numberOf(text: string, names: readonly string[]): number | string {
  const name = names.indexOf(text.toLowerCase());
  if (name >= 0) return names === months ? name + 1 : name;
  return naturalOf(text);
}

function naturalOf(text: string): number | string {
  const wrong = `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}`;
  if (!/^[+-]?[0-9]+$/.test(text)) return `${wrong}: invalid syntax`;
  const value = Number(text);
  if (Math.abs(value) >= durationMax) return `${wrong}: value out of range`;
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}
