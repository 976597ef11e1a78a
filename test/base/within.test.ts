// Waiting no longer than something may take.
import t from "tap";
import { within } from "../../src/base/within.ts";

/** Timers that keep the process running. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

t.test("within() answers what comes in time, or that it is late, and leaves no timer behind", async (t) => {
  const before = timers();
  t.equal(await within(Promise.resolve("a"), 60_000), "a");
  await t.rejects(within(Promise.reject(new Error("b")), 60_000), /^b$/);
  t.equal(timers(), before);
  t.equal(await within(new Promise(() => undefined), 1), "late");
  t.equal(await within(new Promise(() => undefined), -1), "late", "a deadline that is over");
});
