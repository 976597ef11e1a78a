// Times: what Go's parser takes and refuses (ATTACKS J13), and the calendar under it.
import t from "tap";
import { formatDuration, parseDuration } from "../../src/api/duration.ts";
import { canonicalTime, formatMicroTime, formatTime, parseTime, TimeError } from "../../src/api/time.ts";

const layout = '"2006-01-02T15:04:05Z07:00"';

/** Text sent, canonical text; undefined for Go's zero time; what the error ends with after a `!`. */
const times: readonly (readonly [sent: string, kept: string | undefined])[] = [
  ["2021-06-01T12:30:45Z", "2021-06-01T12:30:45Z"],
  ["2021-06-01T12:30:45.123456789Z", "2021-06-01T12:30:45Z"],
  ["2021-06-01T12:30:45,5Z", "2021-06-01T12:30:45Z"],
  ["2021-06-01T12:30:45+02:00", "2021-06-01T10:30:45Z"],
  ["2021-06-01T00:30:45+24:00", "2021-05-31T00:30:45Z"],
  ["2021-12-31T23:30:00-01:00", "2022-01-01T00:30:00Z"],
  ["2020-02-29T00:00:00Z", "2020-02-29T00:00:00Z"],
  ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"],
  ["0001-01-01T00:00:00Z", undefined],
  ["0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"],
  ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"],
  ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"],
  ["9999-12-31T23:59:59-01:00", "10000-01-01T00:59:59Z"],
  ["2021-06-01T1:30:45Z", "2021-06-01T01:30:45Z"],
  ["1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"],
  ["", `!as ${layout}: cannot parse "" as "2006"`],
  ["2021-02-30T00:00:00Z", "!: day out of range"],
  ["2021-02-29T00:00:00Z", "!: day out of range"],
  ["1900-02-29T00:00:00Z", "!: day out of range"],
  ["2021-13-01T00:00:00Z", "!: month out of range"],
  ["2021-00-01T00:00:00Z", "!: month out of range"],
  ["2021-01-00T00:00:00Z", "!: day out of range"],
  ["2021-01-01T24:00:00Z", "!: hour out of range"],
  ["2021-01-01T00:60:00Z", "!: minute out of range"],
  ["2021-01-01T23:59:60Z", "!: second out of range"],
  ["2021-01-01T00:00:00+25:00", "!: time zone offset hour out of range"],
  ["2021-01-01", `!as ${layout}: cannot parse "" as "T"`],
  ["2021-01-01 00:00:00Z", `!as ${layout}: cannot parse " 00:00:00Z" as "T"`],
  ["2021-01-01t00:00:00Z", `!as ${layout}: cannot parse "t00:00:00Z" as "T"`],
  ["2021-01-01T00:00:00z", `!as ${layout}: cannot parse "z" as "Z07:00"`],
  ["2021-01-01T00:00:00", `!as ${layout}: cannot parse "" as "Z07:00"`],
  ["2021-01-01T00:00:00+0100", `!as ${layout}: cannot parse "+0100" as "Z07:00"`],
  ["2021-01-01T00:00:00Zx", '!: extra text: "x"'],
  ["10000-01-01T00:00:00Z", `!as ${layout}: cannot parse "0-01-01T00:00:00Z" as "-"`],
  ["2021-1-01T00:00:00Z", `!as ${layout}: cannot parse "1-01T00:00:00Z" as "01"`],
  [
    "２０２１-01-01T00:00:00Z",
    `!as ${layout}: cannot parse "\\xef\\xbc\\x92\\xef\\xbc\\x90\\xef\\xbc\\x92\\xef\\xbc\\x91-01-01T00:00:00Z" as "2006"`,
  ],
];

for (const [sent, kept] of times) {
  t.test(`canonicalTime() makes ${kept} of ${JSON.stringify(sent)}`, async (t) => {
    const result = canonicalTime(sent, "Time");
    if (kept?.startsWith("!") !== true) return void t.equal(result, kept);
    t.ok(result instanceof TimeError);
    t.ok(result instanceof TimeError && result.message.endsWith(kept.slice(1)), String((result as TimeError).message));
  });
}

const microTimes: readonly (readonly [sent: string, kept: string | undefined])[] = [
  ["2021-06-01T12:30:45.123456Z", "2021-06-01T12:30:45.123456Z"],
  ["2021-06-01T12:30:45.000000+01:00", "2021-06-01T11:30:45.000000Z"],
  ["0001-01-01T00:00:00.000000Z", undefined],
  ["2021-06-01T12:30:45.12345Z", "!"],
  ["2021-06-01T12:30:45.1234567Z", "!"],
  ["2021-06-01T12:30:45Z", "!"],
];

for (const [sent, kept] of microTimes) {
  t.test(`canonicalTime() makes ${kept} of the MicroTime ${sent}`, async (t) => {
    const result = canonicalTime(sent, "MicroTime");
    if (kept === "!") t.ok(result instanceof TimeError);
    else t.equal(result, kept);
  });
}

t.test("formatTime() and parseTime() agree with Date over the calendar", async (t) => {
  for (let ms = Date.UTC(1600, 0, 1); ms < Date.UTC(2401, 0, 1); ms += 86_400_000 * 13 + 3_723_000) {
    const text = new Date(ms).toISOString().replace(".000", "");
    if (formatTime(ms) !== text || parseTime(text) !== ms) t.equal(formatTime(ms), text);
  }
  t.equal(parseTime("2021-06-01T12:30:45.5Z"), Date.UTC(2021, 5, 1, 12, 30, 45, 500));
  t.equal(parseTime("yesterday"), undefined);
  t.equal(formatMicroTime(Date.UTC(2021, 5, 1, 12, 30, 45, 7)), "2021-06-01T12:30:45.007000Z");
});

const durations: readonly (readonly [sent: string, kept: string | undefined])[] = [
  ["0", "0s"],
  ["1h30m", "1h30m0s"],
  ["90s", "1m30s"],
  ["1.5s", "1.5s"],
  ["300ms", "300ms"],
  ["-2m", "-2m0s"],
  ["1us", "1µs"],
  ["1.5h", "1h30m0s"],
  [".5s", "500ms"],
  ["", undefined],
  ["1", undefined],
  ["1d", undefined],
  ["s", undefined],
  [".s", undefined],
  ["9999999h", undefined],
];

for (const [sent, kept] of durations) {
  t.test(`parseDuration() reads ${JSON.stringify(sent)} as ${kept}`, async (t) => {
    const nanos = parseDuration(sent);
    t.equal(nanos === undefined ? undefined : formatDuration(nanos), kept);
  });
}
