// How fast nodes of zones are tainted.
import t from "tap";
import { type ZoneCount, Zones } from "../../../src/controllers/nodes/zones.ts";

const rates = { evictionRate: 0.1, secondaryEvictionRate: 0.01, smallZoneNodesMax: 50, unhealthyFraction: 0.55 };

function counts(zones: Record<string, readonly [ready: number, lost: number]>): Map<string, ZoneCount> {
  return new Map(Object.entries(zones).map(([name, [ready, lost]]) => [name, { ready, lost }]));
}

/** Seconds between the first nodes of a zone in that state that are tainted; infinite: none is. */
function paceOf(ready: number, lost: number): number {
  const zones = new Zones(rates);
  zones.count(counts({ a: [ready, lost], b: [1, 0] }), 0);
  for (let index = 0; index < 3; index += 1) zones.want("a", `n${index}`);
  const first = zones.take("a", 0);
  if (first === undefined) return Number.POSITIVE_INFINITY;
  t.equal(first, "n0");
  return Math.round((zones.take("a", 0) as number) / 1000);
}

t.test("count() slows down zones of which many nodes are lost, and stops small ones", (t) => {
  for (const [ready, lost, seconds] of [
    [10, 1, 10],
    [1, 2, 10],
    [46, 54, 10],
    [45, 55, 100],
    [2, 3, Number.POSITIVE_INFINITY],
    [23, 27, 10],
    [22, 28, Number.POSITIVE_INFINITY],
    [22, 29, 100],
    // A zone without a ready node is cut off or broken as a whole: as long as there is another one, its pods move.
    [0, 1, 10],
    [0, 100, 10],
  ] as const)
    t.equal(paceOf(ready, lost), seconds, `${ready} ready, ${lost} lost`);
  t.end();
});

t.test("count() stops every zone while no node is ready anywhere", (t) => {
  const zones = new Zones(rates);
  t.equal(zones.count(new Map(), 0), false, "a cluster without nodes is none without ready ones");
  t.equal(zones.count(counts({ a: [1, 1], b: [0, 1] }), 0), false);
  for (const zone of ["a", "b"]) zones.want(zone, `${zone}1`);
  t.equal(zones.count(counts({ a: [0, 2], b: [0, 1] }), 1_000), true);
  t.equal(zones.isDisrupted, true);
  t.equal(zones.take("a", 1_000_000), undefined);
  zones.want("c", "c1");
  t.equal(zones.count(counts({ a: [0, 2], b: [0, 1], c: [0, 1] }), 2_000), false, "nor in a new one");
  t.equal(zones.take("c", 1_000_000), undefined);
  t.strictSame(zones.waiting, ["a", "b", "c"]);
  t.equal(zones.count(counts({ a: [1, 1], b: [0, 1], c: [0, 1] }), 3_000), true);
  t.strictSame(
    [3_000, 13_000].map((nowMs) => ["a", "b", "c"].map((zone) => zones.take(zone, nowMs))),
    [
      [10_000, 10_000, 10_000],
      ["a1", "b1", "c1"],
    ],
  );
  t.end();
});

t.test("take() is one node after the other, and a change of the pace gives none for free", (t) => {
  const zones = new Zones(rates);
  const few = counts({ a: [99, 1] });
  zones.count(few, 0);
  for (const node of ["x", "y", "z", "w"]) zones.want("a", node);
  zones.forget("a", "y");
  t.equal(zones.take("a", 0), "x");
  t.equal(zones.take("a", 0), 10_000);
  zones.count(counts({ a: [10, 90] }), 1_000);
  t.equal(zones.take("a", 1_000), 100_000);
  zones.count(few, 2_000);
  t.equal(zones.take("a", 2_000), 10_000);
  t.equal(zones.take("a", 12_000), "z");
  t.equal(zones.take("a", 22_000), "w");
  t.equal(zones.take("a", 32_000), undefined);
  t.equal(zones.take("nowhere", 0), undefined);
  t.end();
});
