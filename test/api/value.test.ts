// Texts in JSON of unknown shape.
import t from "tap";
import { NumberText, textAt, textIn, type Value } from "../../src/api/value.ts";

t.test("textIn() and textAt() give a text or nothing of one", async (t) => {
  const others: readonly (Value | undefined)[] = [undefined, null, true, 1, 2n ** 60n, new NumberText("1.0"), ["a"]];
  for (const other of others) {
    t.equal(textIn(other), "");
    t.equal(textAt(other, "a"), "");
    t.equal(textAt(new Map([["a", other as Value]]), "a"), "");
  }
  t.equal(textIn("a"), "a");
  t.equal(textAt(new Map([["a", "b"]]), "a"), "b");
  t.equal(textAt(new Map([["a", "b"]]), "constructor"), "");
});
