import t from "tap";
import { check, type Fact, type Line, type Truth } from "./check.ts";

// One key x: created at 1, updated at 2, deleted at 4, created again at 5; one key y created at 3.
const facts: readonly Fact[] = [
  { revision: 1, op: "create", key: "x", token: "a", previous: 0, createRevision: 1 },
  { revision: 2, op: "update", key: "x", token: "b", previous: 1, createRevision: 1 },
  { revision: 3, op: "create", key: "y", token: "c", previous: 0, createRevision: 3 },
  { revision: 4, op: "delete", key: "x", token: "b", previous: 2, createRevision: 1 },
  { revision: 5, op: "create", key: "x", token: "d", previous: 4, createRevision: 5 },
];
const truth: Truth = { revision: 5, floor: 0, facts };
const asks: readonly Line[] = [
  { t: "ask", id: 1, op: "create", key: "x", token: "a", expected: 0 },
  { t: "ack", id: 1, revision: 1 },
  { t: "ask", id: 2, op: "update", key: "x", token: "b", expected: 1 },
  { t: "ack", id: 2, revision: 2 },
  { t: "ask", id: 3, op: "create", key: "y", token: "c", expected: 0 },
  { t: "ask", id: 4, op: "delete", key: "x", token: "-", expected: 2 },
  { t: "ack", id: 4 },
  { t: "ask", id: 5, op: "create", key: "x", token: "d", expected: 0 },
  { t: "ack", id: 5, revision: 5 },
  { t: "ask", id: 6, op: "update", key: "y", token: "e", expected: 1 },
  { t: "no", id: 6 },
];
const watch: readonly Line[] = [
  { t: "open", stream: "w", from: 1 },
  { t: "event", stream: "w", op: "update", revision: 2, key: "x", token: "b" },
  { t: "event", stream: "w", op: "create", revision: 3, key: "y", token: "c" },
  { t: "event", stream: "w", op: "delete", revision: 4, key: "x", token: "b" },
  { t: "bookmark", stream: "w", revision: 4 },
];
const reads: readonly Line[] = [
  { t: "look", id: 1, key: "x" },
  { t: "got", id: 1, revision: 5, token: "d" },
  { t: "look", id: 2, key: "z" },
  { t: "got", id: 2, revision: 0, token: "" },
];
const all: Line = { t: "look", id: 9, key: "" };
const list: Line = {
  t: "list",
  id: 9,
  revision: 3,
  items: [
    ["x", 2, "b"],
    ["y", 3, "c"],
  ],
};

t.test("check() finds nothing in a right history", async (t) => {
  t.same(
    check(truth, [
      ...asks,
      ...watch,
      ...reads,
      all,
      {
        ...list,
        revision: 5,
        items: [
          ["x", 5, "d"],
          ["y", 3, "c"],
        ],
      },
    ]),
    [],
  );
  t.same(
    check({ ...truth, floor: 4, facts: facts.filter(({ revision }) => revision === 3 || revision === 5) }, [
      all,
      ...asks,
      ...watch,
      list,
    ]),
    [],
  );
});

const wrong: readonly (readonly [name: string, truth: Truth, lines: readonly Line[], found: RegExp])[] = [
  [
    "an acknowledged create that is gone",
    { ...truth, facts: facts.slice(0, 4) },
    asks,
    /^I1: create of x, acknowledged at 5, is gone/,
  ],
  [
    "an acknowledged change below the floor that is gone",
    { revision: 5, floor: 5, facts: [facts[2] as Fact] },
    asks,
    /^I1: x, acknowledged at 5, is gone/,
  ],
  [
    "an old state under the floor",
    { revision: 5, floor: 5, facts: [facts[0] as Fact, facts[2] as Fact] },
    asks.slice(0, 5),
    /^I1: x is at 1 although 2/,
  ],
  [
    "an acknowledgement with another revision",
    truth,
    [...asks.slice(0, 3), { t: "ack", id: 2, revision: 4 }, ...asks.slice(4)],
    /^I1: ask 2 got 4 and is stored as 2/,
  ],
  ["a revision given twice", truth, [...asks, { t: "ack", id: 3, revision: 5 }], /^I3: revision 5 was given/],
  [
    "a revision below a known one",
    truth,
    [
      ...asks.slice(0, 4),
      { t: "ask", id: 7, op: "create", key: "z", token: "a", expected: 0 },
      { t: "ack", id: 7, revision: 1 },
    ],
    /^I3: ask 7 got revision 1 though 2/,
  ],
  ["a store that goes back", { ...truth, facts: [...facts, facts[1] as Fact] }, asks, /^I3: revision 2 after 5/],
  [
    "a refused change that is stored",
    truth,
    [...asks.slice(0, 5), { t: "no", id: 3 }, ...asks.slice(5)],
    /^I8: ask 3 was refused and is stored at 3/,
  ],
  [
    "a change no client asked for",
    truth,
    asks.filter((line) => line.t !== "ask" || line.id !== 3),
    /^I8: no client asked for c/,
  ],
  [
    "a change made twice",
    { ...truth, revision: 6, facts: [...facts, { ...(facts[2] as Fact), revision: 6, op: "update", previous: 3 }] },
    asks,
    /^I8: c was made twice/,
  ],
  [
    "a broken chain",
    { ...truth, facts: facts.filter(({ revision }) => revision !== 2) },
    [],
    /^I4: x at 4 follows 2, not 1/,
  ],
  ["a missed event", truth, [...asks, ...watch.filter((_, i) => i !== 2)], /^I4: w missed 3/],
  ["an event seen twice", truth, [...asks, ...watch.slice(0, 2), ...watch.slice(1)], /^I4: w saw 2 after 2/],
  [
    "a bookmark ahead of its events",
    truth,
    [...asks, ...watch.slice(0, 3), { t: "bookmark", stream: "w", revision: 4 }],
    /^I4: w missed 4 before the bookmark/,
  ],
  [
    "an event that is gone",
    { ...truth, facts: facts.slice(0, 4) },
    [
      { t: "open", stream: "w", from: 4 },
      { t: "event", stream: "w", op: "create", revision: 5, key: "x", token: "d" },
    ],
    /^I2: w saw create of x at 5, which is gone/,
  ],
  [
    "an event with other content",
    truth,
    [
      { t: "open", stream: "w", from: 4 },
      { t: "event", stream: "w", op: "create", revision: 5, key: "x", token: "z" },
    ],
    /^I2: w saw/,
  ],
  ["a list of an old state", truth, [...asks, all, list], /^I5: list 9 is of 3 though 5/],
  [
    "a read of an old state",
    truth,
    [...asks, { t: "look", id: 1, key: "x" }, { t: "got", id: 1, revision: 2, token: "b" }],
    /^I5: read 1 found x at 2 though 5/,
  ],
  [
    "a read that misses an object",
    truth,
    [...asks, { t: "look", id: 1, key: "x" }, { t: "got", id: 1, revision: 0, token: "" }],
    /^I5: read 1 found no x although it was there at 5/,
  ],
  [
    "a read of what is gone",
    { ...truth, facts: facts.slice(0, 4) },
    [
      { t: "look", id: 1, key: "x" },
      { t: "got", id: 1, revision: 5, token: "d" },
    ],
    /^I2: read 1 found x at 5, which is gone/,
  ],
  [
    "a list that lacks an item",
    truth,
    [all, { t: "list", id: 9, revision: 3, items: [["x", 2, "b"]] }],
    /^I5: list at 3 has 1 items/,
  ],
  [
    "a list with an old item",
    truth,
    [
      all,
      {
        t: "list",
        id: 9,
        revision: 3,
        items: [
          ["x", 1, "a"],
          ["y", 3, "c"],
        ],
      },
    ],
    /^I5: list at 3 has x at 1, the store at 2/,
  ],
];
for (const [name, facts, lines, found] of wrong) {
  t.test(`check() finds ${name}`, async (t) => {
    const bad = check(facts, lines);
    t.ok(
      bad.some((text) => found.test(text)),
      bad.join("\n"),
    );
  });
}
