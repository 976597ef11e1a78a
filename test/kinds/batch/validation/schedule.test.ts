import t from "tap";
import { scheduleFault } from "../../../../src/kinds/batch/validation/schedule.ts";
import { leastCostOf } from "../../../support/cost.ts";

t.test("scheduleFault() accepts what cron accepts", (t) => {
  for (const schedule of [
    "* * * * *",
    "0 0 1 1 0",
    "59 23 31 12 6",
    "*/5 1-3,7 ? JAN-mar mon",
    "0/15 * * * *",
    "1-30/7 * * * *",
    "  1   2 3\t4 5 ",
    ",1,, 0 1 1 0",
    "*-5 * * * *",
    "@hourly",
    "@daily",
    "@midnight",
    "@weekly",
    "@monthly",
    "@yearly",
    "@annually",
    "@every 1h30m",
    "@every 1.5s",
    "@every 0",
    "TZ=UTC 0 0 * * *",
    "CRON_TZ=Europe/Berlin 0 0 * * *",
    "TZ= @daily",
  ]) {
    t.equal(scheduleFault(schedule), undefined, schedule);
  }
  t.end();
});

t.test("scheduleFault() says what is wrong in upstream's words", (t) => {
  const rows: [schedule: string, fault: string][] = [
    ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
    ["* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"],
    ["60 * * * *", "end of range (60) above maximum (59): 60"],
    ["* 24 * * *", "end of range (24) above maximum (23): 24"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["* * * 13 *", "end of range (13) above maximum (12): 13"],
    ["* * * * 7", "end of range (7) above maximum (6): 7"],
    ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["*/x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ["*/-1 * * * *", "negative number (-1) not allowed: -1"],
    ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
    ["1/2/3 * * * *", "too many slashes: 1/2/3"],
    ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    [
      "99999999999999999999 * * * *",
      'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
    ],
    ["@often", "unrecognized descriptor: @often"],
    ["@reboot", "unrecognized descriptor: @reboot"],
    ["@every", "unrecognized descriptor: @every"],
    ["@every x", 'failed to parse duration @every x: time: invalid duration "x"'],
    ["@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'],
    ["@every 5y", 'failed to parse duration @every 5y: time: unknown unit "y" in duration "5y"'],
    [
      "@every 1constructor",
      'failed to parse duration @every 1constructor: time: unknown unit "constructor" in duration "1constructor"',
    ],
    ["TZ=Nowhere/X 0 0 * * *", "provided bad location Nowhere/X: unknown time zone Nowhere/X"],
    ["TZ=../../etc/passwd 0 0 * * *", "provided bad location ../../etc/passwd: unknown time zone ../../etc/passwd"],
    ["TZ=UTC", "expected exactly 5 fields, found 0: []"],
    ["", "empty spec string"],
  ];
  for (const [schedule, fault] of rows) t.equal(scheduleFault(schedule), fault, schedule);
  t.end();
});

t.test("scheduleFault() takes time linear in the schedule", async (t) => {
  for (const part of ["1,", "*/", "1-", "@every 1h", "TZ=", "9", " "]) {
    const schedule = part.repeat(200_000);
    const ms = await leastCostOf(500, () => scheduleFault(schedule));
    t.ok(ms <= 500, `${JSON.stringify(part)}: ${ms} ms`);
  }
});
