import t from "tap";
import { isStatus } from "../../../src/api/status.ts";
import type { ListOptions } from "../../../src/request/route/listoptions.ts";
import { pinName, planWatch, type WatchPlan } from "../../../src/request/watch/watch.ts";
import { plainWatch, selectorOf } from "../../support/fakefront.ts";

t.test("planWatch() follows the document's table, and the client's wish where it states one", (t) => {
  const newest: WatchPlan = { start: { from: "state" }, notBefore: 0, isMostRecent: true, marksInitialEnd: false };
  const state: WatchPlan = { ...newest, isMostRecent: false };
  const after = (revision: number): WatchPlan => ({ ...state, start: { from: "revision", revision } });
  const cases: readonly (readonly [options: Partial<ListOptions>, plan: WatchPlan])[] = [
    [{}, newest],
    [{ resourceVersion: "0" }, state],
    [{ resourceVersion: "00" }, state],
    [{ resourceVersion: "7" }, after(7)],
    [{ resourceVersion: "999999999" }, after(999999999)],
    [{ allowWatchBookmarks: true, limit: 1, continueToken: "abc" }, newest],
    [{ sendInitialEvents: true }, newest],
    [
      { sendInitialEvents: true, allowWatchBookmarks: true },
      { ...newest, marksInitialEnd: true },
    ],
    [
      { sendInitialEvents: true, resourceVersion: "7" },
      { ...state, notBefore: 7 },
    ],
    [{ sendInitialEvents: true, resourceVersion: "0" }, state],
    [{ sendInitialEvents: false }, { ...newest, start: { from: "now" } }],
    [
      { sendInitialEvents: false, resourceVersion: "0" },
      { ...state, start: { from: "now" } },
    ],
    [{ sendInitialEvents: false, resourceVersion: "7" }, after(7)],
  ];
  for (const [options, plan] of cases) t.same(planWatch({ ...plainWatch, ...options }), plan, JSON.stringify(options));
  t.end();
});

t.test("planWatch() refuses what is no resource version", (t) => {
  for (const text of ["abc", "-1", "1.5", "18446744073709551616"]) {
    const plan = planWatch({ ...plainWatch, resourceVersion: text });
    t.ok(isStatus(plan) && plan.code === 400 && plan.message.includes(`parsing "${text}"`), text);
  }
  t.end();
});

t.test("pinName() joins the name of a legacy path with the field selector", (t) => {
  const name = { field: "metadata.name", operator: "=", value: "a" };
  t.same(pinName(selectorOf("", ""), "a"), { labels: [], fields: [name] });
  t.same(pinName(selectorOf("", "metadata.name=a"), "a"), { labels: [], fields: [name] });
  const other = pinName(selectorOf("", "metadata.name=b"), "a");
  t.equal(isStatus(other) && other.message, "fieldSelector metadata.name doesn't match requested name");
  t.end();
});
