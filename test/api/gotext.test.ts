import t from "tap";
import { quoteBad } from "../../src/api/fielderror.ts";
import { GoText, quote, timeText } from "../../src/api/gotext.ts";

t.test("quote() escapes what Go escapes", (t) => {
  const cases: readonly [string, string][] = [
    ["a b", '"a b"'],
    ['"\\', '"\\"\\\\"'],
    ["\n\t\u0000\u007f\u0007", '"\\n\\t\\x00\\x7f\\a"'],
    ["é✓😀", '"é✓😀"'],
    ["\u200b\u00a0", '"\\u200b\\u00a0"'],
    ["\u{e0001}", '"\\U000e0001"'],
  ];
  for (const [value, expected] of cases) t.equal(quote(value), expected);
  t.end();
});

t.test("quoteBad() prints values as Go prints them in field errors", (t) => {
  const cases: readonly [unknown, string][] = [
    [undefined, '"null"'],
    ["x", '"x"'],
    [5, "5"],
    [2n ** 60n, "1152921504606846976"],
    [true, "true"],
    [
      new Map([
        ["b", "2"],
        ["a", "1"],
      ]),
      'map[string]string{"a":"1", "b":"2"}',
    ],
    [["a"], '[]string{"a"}'],
    [new GoText("x{}"), "x{}"],
  ];
  for (const [value, expected] of cases) t.equal(quoteBad(value), expected);
  t.equal(timeText("2001-01-01T00:00:00Z"), "2001-01-01 00:00:00 +0000 UTC");
  t.end();
});
