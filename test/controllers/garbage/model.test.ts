// Random owners, deletions, new objects of old names, kinds that come and go, and crashes between any two writes, against
// what is obvious: nothing that a living object owns is deleted, and what is left when nothing happens any more is what a
// plain list of objects says.
import t from "tap";
import { nextTurn } from "../../../src/base/turn.ts";
import { type Draws, draws, fuzzRun, random } from "../../support/random.ts";
import { merge, type Reference } from "./fixture.ts";
import {
  apiVersionOf,
  customKinds,
  isNamespaced,
  type Kind,
  kinds,
  listOf,
  pathOf,
  pathTo,
  policies,
  referenceOf,
  type Stored,
  spaces,
  World,
} from "./world.ts";

t.setTimeout(3_600_000);

const hold = "example.com/hold";

/** An owner: mostly one that is there, sometimes one that is not what it is called. */
function draw({ pick, chance, next }: Draws, objects: readonly Stored[]): Reference {
  const chosen = objects.length === 0 || chance(5) ? undefined : pick(objects);
  if (chosen === undefined) {
    const kind = pick(kinds);
    return { apiVersion: apiVersionOf(kind), kind, name: `n${next(8)}`, uid: `none-${next(1000)}` };
  }
  const owner = { ...referenceOf(chosen), blockOwnerDeletion: chance(60) };
  if (chance(3)) return { ...owner, uid: `other-${next(1000)}` };
  if (chance(3)) {
    const kind = pick(kinds);
    return { ...owner, kind, apiVersion: apiVersionOf(kind) };
  }
  if (chance(2)) return { ...owner, apiVersion: "example.com/v1", kind: "Unknown" };
  return owner;
}

async function create(world: World, drawn: Draws, holds: boolean): Promise<void> {
  const { pick, next, chance } = drawn;
  const [kind, namespace] = [pick(kinds.filter((each) => world.isServed(each))), pick(spaces)];
  const objects = [...world.objects().values()];
  // Often from its own namespace, where owners are found.
  const near = objects.filter((each) => each.metadata.namespace === namespace || !isNamespaced(each.kind));
  const owners = Array.from({ length: pick([0, 1, 1, 1, 2, 3]) }, () => draw(drawn, chance(90) ? near : objects));
  const finalizers = holds && chance(15) ? [hold] : undefined;
  const distinct = owners.filter(({ uid }, index) => owners.findIndex((other) => other.uid === uid) === index);
  const metadata = { name: `n${next(8)}`, ownerReferences: distinct, finalizers };
  await world.yard.server.call("POST", pathOf(kind, namespace), { apiVersion: apiVersionOf(kind), kind, metadata });
}

/** What a deletion leaves of other objects besides: those that are orphaned lose the owner. */
function withoutChosen(world: World, chosen: Stored, objects: Map<string, Stored>): void {
  const only = new Map([[chosen.metadata.uid, chosen]]);
  for (const [uid, object] of objects) {
    const owners = object.metadata.ownerReferences ?? [];
    const kept = owners.filter((owner) => world.stateOf(only, object, owner) !== "solid");
    if (kept.length < owners.length)
      objects.set(uid, { ...object, metadata: { ...object.metadata, ownerReferences: kept } });
  }
}

t.test("one change after the other, what is left is what a list of objects says", async (t) => {
  const { seed, rounds } = fuzzRun(250);
  t.comment(`ORCH_FUZZ_SEED=${seed}`);
  const drawn = draws(seed);
  const late = random(seed);
  const world = await World.open(() => late(2));
  await world.yard.settled();
  for (let round = 0; round < rounds; round++) {
    if (round % 20 === 0) {
      world.noCrash();
      for (const odd of world.leftAlone(world.objects())) await world.remove(odd, "Background");
      await world.yard.settled();
    }
    if (drawn.chance(60)) world.crashAt(1 + drawn.next(4));
    const expected = world.objects();
    const objects = [...expected.values()];
    if (objects.length === 0 || drawn.chance(70)) await create(world, drawn, false);
    else {
      const chosen = drawn.pick(objects);
      const isWaitedFor = world.leftAlone(expected).length > 0;
      const policy = drawn.pick(isWaitedFor ? (["Background", "Orphan"] as const) : policies);
      await world.remove(chosen, policy);
      expected.delete(chosen.metadata.uid);
      if (policy === "Orphan") withoutChosen(world, chosen, expected);
    }
    for (const [uid, object] of world.objects())
      if (!expected.has(uid) && !world.chosen.has(uid)) expected.set(uid, object);
    if (drawn.chance(5)) await world.yard.restart();
    await world.yard.settled();
    const found = listOf(world.objects());
    const wanted = world.settledList(expected);
    if (found.join("\n") === wanted.join("\n")) continue;
    t.same(found, wanted, `round ${round} of seed ${seed}`);
    break;
  }
  t.comment(`${world.crashes} crashes`);
  t.ok(world.chosen.size > rounds / 10);
  t.ok(world.crashes > rounds / 20);
  await world.close(t);
});

/** One change at random while the collector works. */
async function step(world: World, drawn: Draws): Promise<void> {
  const objects = [...world.objects().values()];
  const what = drawn.next(10);
  const chosen = objects.length === 0 ? undefined : drawn.pick(objects);
  if (drawn.chance(2)) {
    const kind = drawn.pick(customKinds);
    await (world.isServed(kind) ? world.undefine(kind) : world.define(kind));
  } else if (chosen === undefined || what < 6) await create(world, drawn, true);
  else if (what < 8) await Promise.all([world.remove(chosen, drawn.pick(policies)), adopt(world, drawn, chosen)]);
  else if (what < 9) await world.yard.free(pathTo(chosen));
  else {
    const owners = [draw(drawn, objects), draw(drawn, objects)];
    const distinct = owners.filter(({ uid }, at, all) => all[1 - at]?.uid !== uid);
    await world.yard.server.call("PATCH", pathTo(chosen), { metadata: { ownerReferences: distinct } }, merge);
  }
}

/** Gives a dependent another owner while its own is deleted. */
async function adopt(world: World, drawn: Draws, { metadata: { uid } }: Stored): Promise<void> {
  const objects = [...world.objects().values()];
  const dependents = objects.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  if (dependents.length === 0 || drawn.chance(50)) return;
  const dependent = drawn.pick(dependents);
  const others = objects.filter(({ metadata }) => metadata.uid !== uid && metadata.deletionTimestamp === undefined);
  const ownerReferences = [draw(drawn, others)];
  for (let turns = drawn.next(12); turns > 0; turns--) await nextTurn();
  await world.yard.server.call("PATCH", pathTo(dependent), { metadata: { ownerReferences } }, merge);
}

/**
 * Has an object that the collector is about to change be another one when the change comes: one with a living owner, or
 * a new one of its name, which may have a finalizer of the collector's.
 */
async function meddle(world: World, drawn: Draws, object: Stored): Promise<void> {
  const { kind, metadata } = object;
  if (!world.isServed(kind)) return;
  const owners = [...world.objects().values()].filter(
    (each) =>
      each.metadata.uid !== metadata.uid &&
      each.metadata.deletionTimestamp === undefined &&
      (!isNamespaced(each.kind) || each.metadata.namespace === metadata.namespace),
  );
  const ownerReferences = owners.length > 0 && drawn.chance(60) ? [referenceOf(drawn.pick(owners))] : [];
  const { server } = world.yard;
  if (metadata.deletionTimestamp === undefined && drawn.chance(50)) {
    if (ownerReferences.length > 0)
      await server.call("PATCH", pathTo(object), { metadata: { ownerReferences } }, merge);
    return;
  }
  await world.remove(object, "Background");
  await world.yard.free(pathTo(object));
  const finalizers = drawn.pick([undefined, undefined, ["orphan"], ["foregroundDeletion"]]);
  const anew = { name: metadata.name, ownerReferences, finalizers };
  const sent = { apiVersion: apiVersionOf(kind as Kind), kind, metadata: anew };
  await server.call("POST", pathOf(kind, metadata.namespace), sent);
}

t.test(
  "many at once, with finalizers and crashes: nothing living is deleted, and nothing is left undone",
  async (t) => {
    const { seed, rounds } = fuzzRun(12);
    t.comment(`ORCH_FUZZ_SEED=${seed}`);
    const drawn = draws(seed + 1);
    const late = random(seed);
    const world = await World.open(() => late(6));
    const meddling = draws(seed + 2);
    let meddled = 0;
    const meddleSometimes = async (object: Stored): Promise<void> => {
      if (!meddling.chance(40)) return;
      meddled += 1;
      await meddle(world, meddling, object);
    };
    for (let round = 0; round < rounds; round++) {
      world.meddle = meddleSometimes;
      for (let count = 0; count < 40; count++) {
        if (drawn.chance(40)) world.crashAt(1 + drawn.next(8));
        await step(world, drawn);
        if (drawn.chance(50)) await nextTurn();
      }
      do {
        for (const odd of world.leftAlone(world.objects())) await world.remove(odd, "Background");
        await freeAll(world);
        await world.yard.settled();
      } while (!(await world.defineAll()));
      world.noCrash();
      world.meddle = undefined;
      await world.yard.settled();
      const objects = world.objects();
      const ends = new Map([...objects].filter(([, { metadata }]) => metadata.deletionTimestamp !== undefined));
      t.same(listOf(ends), [], `round ${round} of seed ${seed}`);
      t.same(listOf(objects), world.settledList(objects), `round ${round} of seed ${seed}`);
    }
    t.comment(`${world.crashes} crashes, ${meddled} changes that something else came before`);
    t.ok(world.crashes > rounds);
    t.ok(meddled > rounds);
    await world.close(t);
  },
);

/** Takes the finalizers of the test off all objects, while the collector changes others. */
async function freeAll({ objects, yard }: World): Promise<void> {
  for (let left = true; left; ) {
    left = false;
    for (const object of objects().values()) {
      const { resourceVersion, finalizers = [] } = object.metadata;
      if (!finalizers.includes(hold)) continue;
      left = true;
      const metadata = { resourceVersion, finalizers: finalizers.filter((each) => each !== hold) };
      await yard.server.call("PATCH", pathTo(object), { metadata }, merge);
    }
  }
}
