// What becomes of slices, against a model: after a plan is carried out, slices say exactly what is wanted.
import t from "tap";
import type { Endpoint } from "../../../src/api/gen/discovery/v1.ts";
import {
  type EndpointGroup,
  endpointKey,
  type PresentSlice,
  planGroup,
  reuse,
  type SlicePlan,
} from "../../../src/controllers/endpoints/sliceplan.ts";
import { draws, fuzzRun } from "../../support/random.ts";

const labels = new Map([["a", "b"]]);

function endpoint(number: number, ready = true): Endpoint {
  return { addresses: [`10.0.0.${number}`], conditions: { ready } };
}

function groupOf(endpoints: readonly Endpoint[]): EndpointGroup {
  return { addressType: "IPv4", ports: [], endpoints: new Map(endpoints.map((one) => [endpointKey(one), one])) };
}

function slice(name: string, endpoints: readonly Endpoint[], addressType = "IPv4"): PresentSlice {
  return { metadata: { name, labels: new Map(labels) }, addressType, endpoints, ports: [] };
}

function numbers(from: number, count: number): Endpoint[] {
  return Array.from({ length: count }, (_none, index) => endpoint(from + index));
}

/** How many endpoints each write has, and what goes. */
function short({ create, update, remove }: SlicePlan): string {
  const created = create.map(({ endpoints }) => `+${endpoints.length}`);
  const updated = update.map(({ name, wanted }) => `${name}=${wanted.endpoints.length}`);
  return [...created, ...updated, ...remove.map(({ metadata }) => `-${metadata.name}`)].join(" ");
}

t.test("planGroup() changes as few slices as it can", async (t) => {
  const a = slice("a", numbers(0, 4));
  const b = slice("b", numbers(10, 2));
  const c = slice("c", numbers(20, 3));
  const [inA, inB, inC] = [numbers(0, 4), numbers(10, 2), numbers(20, 3)];
  const cases: readonly [title: string, present: readonly PresentSlice[], wanted: readonly Endpoint[], plan: string][] =
    [
      ["nothing", [], [], ""],
      ["new ones", [], numbers(0, 11), "+5 +5 +1"],
      ["as it is", [a, b], [...inA, ...inB], ""],
      ["one more: to the fullest that takes it", [a, b, c], [...inA, ...inB, ...inC, endpoint(9)], "a=5"],
      ["two more: to the fullest that takes them all", [a, b, c], [...inA, ...inB, ...inC, ...numbers(30, 2)], "c=5"],
      ["more than any takes: to a new one", [a, b], [...inA, ...inB, ...numbers(30, 4)], "+4"],
      ["as many as fill one: to a new one", [b], [...inB, ...numbers(30, 5)], "+5"],
      ["one that changes anyway takes more", [a, b], [endpoint(0, false), ...inA.slice(1), ...inB, endpoint(9)], "a=5"],
      ["one goes", [a, b], [...inA.slice(1), ...inB], "a=3"],
      ["the last one of a slice goes", [a, b], inA, "-b"],
      ["all go", [a, b], [], "-a -b"],
      ["an endpoint twice", [a, slice("x", inA)], inA, "-x"],
    ];
  for (const [title, present, wanted, plan] of cases)
    t.equal(short(planGroup(groupOf(wanted), present, labels, 5)), plan, title);
  t.equal(short(planGroup(groupOf(inA), [a], new Map(), 5)), "a=4", "labels changed");
});

t.test("reuse() writes over slices that would go, of the same kind of addresses", async (t) => {
  const wanted = (addressType: string) => ({ addressType, ports: [], endpoints: [endpoint(1)], labels });
  const remove = [slice("four", []), slice("six", [], "IPv6"), slice("more", [])];
  const plan = reuse({ create: [wanted("IPv6"), wanted("IPv4")], update: [], remove });
  t.equal(short(plan), "four=1 six=1 -more");
});

t.test("planGroup() leads to what is wanted, whatever was there, and then to nothing", async (t) => {
  const { seed, rounds } = fuzzRun(300);
  for (let round = 0; round < rounds; round += 1) {
    const { next, chance } = draws(seed + round);
    const max = 1 + next(6);
    const draw = (count: number): Endpoint[] =>
      Array.from({ length: next(count) }, () => endpoint(next(20), chance(80)));
    let present = Array.from({ length: next(5) }, (_none, index) => slice(`s${index}`, draw(max + 2)));
    let made = 0;
    for (let step = 0; step < 4; step += 1) {
      const drawn = draw(20);
      const { create, update, remove } = reuse(planGroup(groupOf(drawn), present, labels, max));
      const kept = present.filter((one) => !remove.includes(one));
      present = kept.map((one) => {
        const found = update.find(({ name }) => name === one.metadata.name);
        return found === undefined ? one : slice(found.name, found.wanted.endpoints);
      });
      present.push(...create.map(({ endpoints }) => slice(`n${made++}`, endpoints)));
      const said = present.flatMap(({ endpoints = [] }) => endpoints.map((one) => JSON.stringify(one))).sort();
      const wanted = [...groupOf(drawn).endpoints.values()].map((one) => JSON.stringify(one)).sort();
      t.same(said, wanted, `seed ${seed + round}, step ${step}`);
      const filled = [...create, ...update.map(({ wanted }) => wanted)];
      t.ok(
        create.every(({ endpoints }) => endpoints.length <= max),
        "no new slice is too large",
      );
      t.ok(
        filled.every(({ endpoints }) => endpoints.length > 0),
        "none is written empty",
      );
      t.equal(short(planGroup(groupOf(drawn), present, labels, max)), "", "nothing is left to do");
    }
  }
});
