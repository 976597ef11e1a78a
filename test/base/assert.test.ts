import t from "tap";
import { AssertionFailure, assert, unreachable } from "../../src/base/assert.ts";

t.test("assert() throws AssertionFailure with the message when the condition is false", (t) => {
  assert(true, "never");
  t.throws(() => assert(false, "Revision went back"), new AssertionFailure("Revision went back"));
  t.throws(() => unreachable("No such state"), { name: "AssertionFailure" });
  t.end();
});
