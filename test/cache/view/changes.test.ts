// What a reader that follows a log on demand is handed: every change once, no moves, and the truth about what is lost.
import t from "tap";
import { recordTypes } from "../../../src/cache/shared/record.ts";
import { eachChange } from "../../../src/cache/view/changes.ts";
import type { LogView } from "../../../src/cache/view/view.ts";

const { create, update, delete: gone, move } = recordTypes;

/** A view of entries of these types from position 10 on, of which the first `lost` were recycled. */
function viewOf(types: readonly number[], lost: number): LogView {
  const view: Pick<LogView, "head" | "at" | "typeOf"> = {
    head: 10 + types.length,
    at: (position) => (position < 10 + lost ? 0 : position * 100),
    typeOf: (at) => types[at / 100 - 10] ?? 0,
  };
  return view as LogView;
}

const cases = [
  { name: "all of them", from: 10, lost: 0, known: true, seen: [1000, 1100, 1300] },
  { name: "from a later position on", from: 12, lost: 0, known: true, seen: [1300] },
  { name: "none at the head", from: 14, lost: 0, known: true, seen: [] },
  { name: "none when the first is not to be had", from: 10, lost: 1, known: false, seen: [] },
  { name: "what came after the loss", from: 11, lost: 1, known: true, seen: [1100, 1300] },
];

for (const { name, from, lost, known, seen } of cases) {
  t.test(`eachChange() hands on ${name}`, async (t) => {
    const told: number[] = [];
    const view = viewOf([create, update, move, gone], lost);
    t.equal(
      eachChange(view, from, (at, type) => {
        told.push(at);
        t.equal(type, view.typeOf(at));
      }),
      known,
    );
    t.same(told, seen);
  });
}
