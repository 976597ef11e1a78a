// Random owners, deletions, new objects of old names and crashes against what is obvious: nothing that a living object owns
// is deleted, and what is left when nothing happens any more is what a plain list of objects says.
import t, { type Test } from "tap";
import { changeTypes } from "../../../src/storage/store.ts";
import { openInProcess } from "../../support/inprocess.ts";
import { type Draws, draws, fuzzRun } from "../../support/random.ts";
import { merge, type Reference, Yard } from "./fixture.ts";

interface Stored {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly Reference[];
  };
}

const hold = "example.com/hold";
const policies = ["Background", "Foreground", "Orphan"] as const;
type Policy = (typeof policies)[number];

/** Where objects of each kind are. */
const kinds = ["ConfigMap", "Secret", "Node"] as const;
const spaces = ["one", "two"];
function pathOf(kind: string, namespace: string): string {
  if (kind === "Node") return "/api/v1/nodes";
  return `/api/v1/namespaces/${namespace}/${kind === "Secret" ? "secrets" : "configmaps"}`;
}

/** All objects of the test, by uid, as they are stored. */
class World {
  readonly yard: Yard;
  /** Deleted by the test, not by the collector. */
  readonly chosen = new Set<string>();
  readonly faults: string[] = [];
  /** Commits until the collector is stopped in the middle of one; never by itself. */
  crashIn = Number.POSITIVE_INFINITY;
  onCrash: () => void = () => undefined;

  constructor(yard: Yard) {
    this.yard = yard;
    yard.server.store.before = (change) => {
      this.#check(change.type, JSON.parse(Buffer.from(change.body).toString()) as Stored);
      this.crashIn -= 1;
      if (this.crashIn !== 0) return undefined;
      this.onCrash();
      return undefined;
    };
  }

  readonly objects = (): Map<string, Stored> => {
    const all = new Map<string, Stored>();
    for (const kind of kinds) {
      const resource = { ConfigMap: "configmaps", Secret: "secrets", Node: "nodes" }[kind];
      const view = this.yard.server.views.log(this.yard.server.scheme.find("", "v1", resource)?.prefix ?? "");
      view.drain();
      view.scan("", "", 0, (at) => {
        const object = JSON.parse(Buffer.from(view.object(at)).toString()) as Stored;
        if (object.metadata.namespace !== "kube-system") all.set(object.metadata.uid, object);
        return true;
      });
    }
    return all;
  };

  /** What only the collector deletes has owners, and none of them lives. */
  #check(type: number, { kind, metadata }: Stored): void {
    const { uid, name, deletionTimestamp } = metadata;
    if (!kinds.some((each) => each === kind) || this.chosen.has(uid)) return;
    if (type !== changeTypes.delete && deletionTimestamp === undefined) return;
    const objects = this.objects();
    const stored = objects.get(uid);
    if (stored === undefined || stored.metadata.deletionTimestamp !== undefined) return;
    const owners = stored.metadata.ownerReferences ?? [];
    const living = owners.filter((owner) => ["solid", "unknown"].includes(stateOf(objects, stored, owner)));
    if (owners.length === 0 || living.length > 0)
      this.faults.push(`${kind} ${name} is deleted: ${JSON.stringify(owners)}`);
  }
}

function stateOf(objects: ReadonlyMap<string, Stored>, of: Stored, { kind, name, uid }: Reference): string {
  if (kind === "Widget") return "unknown";
  if (kind !== "Node" && of.metadata.namespace === undefined) return "unknown";
  const owner = objects.get(uid);
  if (owner?.kind !== kind || owner.metadata.name !== name) return "absent";
  if (kind !== "Node" && owner.metadata.namespace !== of.metadata.namespace) return "absent";
  const { deletionTimestamp, finalizers = [] } = owner.metadata;
  if (deletionTimestamp === undefined || finalizers.includes("orphan")) return "solid";
  return finalizers.includes("foregroundDeletion") ? "waiting" : "solid";
}

/** What is left of objects that nothing holds, by rules of one line each, in no order of any importance. */
function settledList(objects: Map<string, Stored>): string[] {
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const [uid, object] of objects) {
      const owners = object.metadata.ownerReferences ?? [];
      const states = owners.map((owner) => stateOf(objects, object, owner));
      if (states.length === 0 || states.includes("unknown")) continue;
      const living = owners.filter((_owner, index) => states[index] === "solid");
      if (living.length === owners.length) continue;
      if (living.length === 0) objects.delete(uid);
      else objects.set(uid, { ...object, metadata: { ...object.metadata, ownerReferences: living } });
      isChanged = true;
    }
  }
  return listOf(objects);
}

function listOf(objects: ReadonlyMap<string, Stored>): string[] {
  const line = ({ kind, metadata }: Stored): string => {
    const { namespace = "", name, uid, ownerReferences = [], deletionTimestamp, finalizers = [] } = metadata;
    const owners = ownerReferences.map((owner) => owner.uid);
    return [kind, namespace, name, uid, ...(deletionTimestamp === undefined ? [] : finalizers), ...owners].join(" ");
  };
  return [...objects.values()].map(line).sort();
}

function referenceOf({ kind, metadata: { name, uid } }: Stored): Reference {
  return { apiVersion: "v1", kind, name, uid };
}

/** Objects that are left alone whatever happens to their owners, and keep these from going: one of them is unknown. */
function leftAlone(objects: ReadonlyMap<string, Stored>): Stored[] {
  return [...objects.values()].filter((object) =>
    (object.metadata.ownerReferences ?? []).some((owner) => stateOf(objects, object, owner) === "unknown"),
  );
}

/** An owner: mostly one that is there, sometimes one that is not what it is called. */
function draw({ pick, chance, next }: Draws, objects: readonly Stored[]): Reference {
  const chosen = objects.length === 0 || chance(5) ? undefined : pick(objects);
  if (chosen === undefined)
    return { apiVersion: "v1", kind: pick(kinds), name: `n${next(8)}`, uid: `nobody-${next(1000)}` };
  const owner = { ...referenceOf(chosen), blockOwnerDeletion: chance(60) };
  if (chance(3)) return { ...owner, uid: `other-${next(1000)}` };
  if (chance(3)) return { ...owner, kind: pick(kinds) };
  if (chance(2)) return { ...owner, apiVersion: "example.com/v1", kind: "Widget" };
  return owner;
}

async function create(world: World, drawn: Draws, holds: boolean): Promise<void> {
  const { pick, next, chance } = drawn;
  const [kind, namespace] = [pick(kinds), pick(spaces)];
  const objects = [...world.objects().values()];
  // Often from its own namespace, where owners are found.
  const near = objects.filter((each) => each.metadata.namespace === namespace || each.kind === "Node");
  const owners = Array.from({ length: pick([0, 1, 1, 1, 2, 3]) }, () => draw(drawn, chance(90) ? near : objects));
  const finalizers = holds && chance(15) ? [hold] : undefined;
  const distinct = owners.filter(({ uid }, index) => owners.findIndex((other) => other.uid === uid) === index);
  const metadata = { name: `n${next(8)}`, ownerReferences: distinct, finalizers };
  await world.yard.server.call("POST", pathOf(kind, namespace), { metadata });
}

function pathTo({ kind, metadata: { namespace = "", name } }: Stored): string {
  return `${pathOf(kind, namespace)}/${name}`;
}

async function remove(world: World, object: Stored, policy: Policy): Promise<void> {
  world.chosen.add(object.metadata.uid);
  const options = { propagationPolicy: policy, preconditions: { uid: object.metadata.uid } };
  await world.yard.server.call("DELETE", pathTo(object), options);
}

async function open(): Promise<World> {
  const server = await openInProcess();
  for (const name of spaces) await server.call("POST", "/api/v1/namespaces", { metadata: { name } });
  return new World(new Yard(server));
}

async function close(t: Test, { yard, faults }: World): Promise<void> {
  await yard.reconciler.stop();
  t.same(yard.server.faults, []);
  t.same(faults, []);
  t.same(yard.reports, []);
  yard.server.close();
}

t.test("one change after the other, what is left is what a list of objects says", async (t) => {
  const { seed, rounds } = fuzzRun(250);
  t.comment(`ORCH_FUZZ_SEED=${seed}`);
  const drawn = draws(seed);
  const world = await open();
  await world.yard.settled();
  for (let round = 0; round < rounds; round++) {
    if (round % 20 === 0) {
      for (const odd of leftAlone(world.objects())) await remove(world, odd, "Background");
      await world.yard.settled();
    }
    const expected = world.objects();
    const objects = [...expected.values()];
    if (objects.length === 0 || drawn.chance(70)) await create(world, drawn, false);
    else {
      const chosen = drawn.pick(objects);
      const isWaitedFor = leftAlone(expected).length > 0;
      const policy = drawn.pick(isWaitedFor ? (["Background", "Orphan"] as const) : policies);
      await remove(world, chosen, policy);
      expected.delete(chosen.metadata.uid);
      if (policy === "Orphan") {
        for (const [uid, object] of expected) {
          const owners = object.metadata.ownerReferences ?? [];
          const kept = owners.filter(
            (owner) => stateOf(new Map([[chosen.metadata.uid, chosen]]), object, owner) !== "solid",
          );
          if (kept.length < owners.length)
            expected.set(uid, { ...object, metadata: { ...object.metadata, ownerReferences: kept } });
        }
      }
    }
    for (const [uid, object] of world.objects())
      if (!expected.has(uid) && !world.chosen.has(uid)) expected.set(uid, object);
    if (drawn.chance(5)) await world.yard.restart();
    await world.yard.settled();
    const found = listOf(world.objects());
    const wanted = settledList(expected);
    if (found.join("\n") === wanted.join("\n")) continue;
    t.same(found, wanted, `round ${round} of seed ${seed}`);
    break;
  }
  t.ok(world.chosen.size > rounds / 10);
  await close(t, world);
});

t.test(
  "many at once, with finalizers and crashes: nothing living is deleted, and nothing is left undone",
  async (t) => {
    const { seed, rounds } = fuzzRun(12);
    t.comment(`ORCH_FUZZ_SEED=${seed}`);
    const drawn = draws(seed + 1);
    const world = await open();
    for (let round = 0; round < rounds; round++) {
      for (let step = 0; step < 40; step++) {
        const objects = [...world.objects().values()];
        const what = drawn.next(10);
        const chosen = objects.length === 0 ? undefined : drawn.pick(objects);
        if (chosen === undefined || what < 6) await create(world, drawn, true);
        else if (what < 8) await remove(world, chosen, drawn.pick(policies));
        else if (what < 9) await world.yard.free(pathTo(chosen));
        else {
          const owners = [draw(drawn, objects), draw(drawn, objects)].filter(
            ({ uid }, at, all) => all[1 - at]?.uid !== uid,
          );
          await world.yard.server.call("PATCH", pathTo(chosen), { metadata: { ownerReferences: owners } }, merge);
        }
        if (drawn.chance(10)) {
          world.crashIn = 1 + drawn.next(6);
          let crashed: Promise<void> | undefined;
          world.onCrash = () => {
            crashed = world.yard.restart();
          };
          await new Promise((resolve) => setImmediate(resolve));
          await crashed;
        }
      }
      world.crashIn = Number.POSITIVE_INFINITY;
      for (const odd of leftAlone(world.objects())) await remove(world, odd, "Background");
      await freeAll(world);
      await world.yard.settled();
      const objects = world.objects();
      const ends = new Map([...objects].filter(([, { metadata }]) => metadata.deletionTimestamp !== undefined));
      t.same(listOf(ends), [], `round ${round} of seed ${seed}`);
      t.same(listOf(objects), settledList(objects), `round ${round} of seed ${seed}`);
    }
    await close(t, world);
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
