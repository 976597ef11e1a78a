import t from "tap";
import { AssertionFailure, assert, assertShared, SharedStateFailure, unreachable } from "../../src/base/assert.ts";

t.test("assert() throws AssertionFailure with the message when the condition is false", (t) => {
  assert(true, "never");
  t.throws(() => assert(false, "Not our own JSON"), new AssertionFailure("Not our own JSON"));
  t.throws(() => unreachable("No such state"), { name: "AssertionFailure" });
  t.end();
});

t.test("assertShared() throws a SharedStateFailure, which is told apart from one of a request's data", (t) => {
  assertShared(true, "never");
  t.throws(() => assertShared(false, "Revision went back"), new SharedStateFailure("Revision went back"));
  t.ok(new SharedStateFailure("") instanceof AssertionFailure);
  t.notOk(new AssertionFailure("") instanceof SharedStateFailure);
  t.end();
});
