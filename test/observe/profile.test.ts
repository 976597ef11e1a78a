// From a CPU profile to a tree.
import t from "tap";
import { flameOf, takeProfile } from "../../src/observe/profile.ts";

const frame = (functionName: string, url = "file:///some/where/src/a/b.js") => ({
  ...{ functionName, scriptId: "1", url, lineNumber: 9, columnNumber: 0 },
});

t.test("flameOf() adds up what functions and those they call take, without idle time", (t) => {
  const nodes = [
    { id: 1, callFrame: frame("(root)", ""), children: [2, 5] },
    { id: 2, callFrame: frame("serve"), children: [3, 4] },
    { id: 3, callFrame: frame("list") },
    { id: 4, callFrame: frame("list") },
    { id: 5, callFrame: frame("(idle)", "") },
  ];
  const samples = [2, 3, 3, 4, 5, 5];
  const timeDeltas = [1000, 2000, 2000, 3000, 50_000, 50_000];
  const tree = flameOf({ nodes, samples, timeDeltas, startTime: 0, endTime: 1 });
  const list = { name: "list", place: "a/b.js:10", ms: 7, children: [] };
  const serve = { name: "serve", place: "a/b.js:10", ms: 8, children: [list] };
  t.same(tree, { name: "all", place: "", ms: 8, children: [serve] });
  t.end();
});

t.test("flameOf() ends at a depth that can be seen", (t) => {
  const nodes = Array.from({ length: 5000 }, (_, i) => ({
    ...{ id: i + 1, callFrame: frame(`f${i}`) },
    ...(i < 4999 ? { children: [i + 2] } : {}),
  }));
  const tree = flameOf({ nodes, samples: [5000], timeDeltas: [1000], startTime: 0, endTime: 1 });
  let depth = 0;
  for (let node = tree.children[0]; node !== undefined; node = node.children[0]) depth += 1;
  t.equal(depth, 60);
  t.equal(tree.ms, 1);
  t.end();
});

t.test("takeProfile() watches the thread that calls it", async (t) => {
  const profile = await takeProfile(0.05);
  t.ok(profile.nodes.length > 0);
});
