import t from "tap";
import { limits } from "../../../src/config/limits.ts";
import { WarningSieve, warningHeaders } from "../../../src/request/answer/response.ts";

function texts(...warnings: string[]): string[] {
  return warningHeaders(warnings).map(([, value]) => value);
}

t.test("warningHeaders() quotes texts and keeps what no header holds out of them", (t) => {
  t.strictSame(warningHeaders(["a"]), [["Warning", '299 - "a"']]);
  t.strictSame(texts('a "b" \\', "c\r\nX: 1\0\x1b\x7f", "é\u{1f600}"), [
    '299 - "a \\"b\\" \\\\"',
    '299 - "c  X: 1   "',
    '299 - "   "',
  ]);
  t.strictSame(texts("a", "b", "a"), ['299 - "a"', '299 - "b"'], "each once");
  t.end();
});

t.test("warningHeaders() cuts texts when they are too long together", (t) => {
  const fits = "x".repeat(limits.warningCharsMax);
  t.strictSame(texts(fits), [`299 - "${fits}"`]);
  const cut = "x".repeat(limits.warningTextCharsMax);
  t.strictSame(texts(`${fits}x`, "short"), [`299 - "${cut}"`, '299 - "short"']);
  const many = texts(...Array.from({ length: 1000 }, (_, i) => `${i} ${cut}`));
  t.equal(many.length, limits.warningCharsMax / limits.warningTextCharsMax);
  t.end();
});

t.test("WarningSieve keeps what the headers would show, and no more", (t) => {
  const long = "y".repeat(limits.warningTextCharsMax);
  for (const lists of [
    [["a", "b"], ["b", "c"], []],
    [[`${"x".repeat(limits.warningCharsMax)}z`], ["short"]],
    Array.from({ length: 5_000 }, (_, i) => [`${i % 700}`, `${i}`]),
    Array.from({ length: 100 }, (_, i) => [`${i} ${long}`, "same"]),
  ]) {
    const heard = ["first"];
    const sieve = new WarningSieve(heard);
    for (const texts of lists) sieve.take(texts);
    t.strictSame(warningHeaders(heard), warningHeaders(["first", ...lists.flat()]));
    t.ok(heard.length <= limits.warningCharsMax + 1, `${heard.length} kept`);
  }
  t.end();
});
