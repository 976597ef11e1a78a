// What an engine must do besides store.ts whose data other servers write, too (Engine.isShared).
import { limits } from "../../src/config/limits.ts";
import type { Outcome, Record, Store } from "../../src/storage/store.ts";
import { change, readBody } from "../support/changes.ts";
import type { Engine } from "./store.ts";
import { HandClock } from "./store.ts";

type Test = typeof import("tap").t;

/** Waits until a store has delivered a revision. */
async function delivered(store: Store, revision: number): Promise<void> {
  const limit = Date.now() + 10_000;
  while (store.revision < revision) {
    if (Date.now() > limit) throw new Error(`Revision ${store.revision} of ${revision} is delivered`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function revisionsOf(outcomes: readonly Outcome[]): number[] {
  return outcomes.flatMap((outcome) => ("revision" in outcome ? [outcome.revision] : []));
}

/** Runs the suite. `overlap`: the engine's. */
export function sharedContract(t: Test, engine: Engine, overlap: number): void {
  const clock = new HandClock();
  const pair = async (): Promise<[Store, Store]> => {
    const path = engine.place();
    const open = async (): Promise<Store> => engine.open({ path, identity: "orch", clock });
    return [await open(), await open()];
  };

  t.test(`${engine.name}: what one server commits is delivered to each, in one order`, async (t) => {
    const [a, b] = await pair();
    const told: Record[][] = [[], []];
    for (const [index, store] of [a, b].entries()) await store.watch(0, (some) => told[index]?.push(...some));
    const made: number[] = [];
    await Promise.all(
      [a, b].map(async (store, index) => {
        let mod = 0;
        for (let i = 0; i < 40; i++) {
          const step = change(mod === 0 ? "create" : "update", `${index}`, mod, `${i}`);
          const [outcome] = await store.commit([step]);
          if (outcome === undefined || !("revision" in outcome)) throw new Error(`Change ${i} was not made`);
          mod = outcome.revision;
          made.push(mod);
          t.equal(
            told[index]?.findLast(({ key }) => key === step.key)?.revision,
            mod,
            "delivered here before it is told",
          );
          t.ok(
            (await (index === 0 ? b : a).currentRevision()) >= mod,
            "the other server's newest revision includes it",
          );
        }
      }),
    );
    const newest = Math.max(...made);
    await delivered(a, newest);
    await delivered(b, newest);
    for (const records of told) {
      t.same(
        records.map(({ revision }) => revision),
        made.toSorted((x, y) => x - y),
      );
    }
    t.same(
      told[0]?.map(({ body }) => readBody(body)),
      told[1]?.map(({ body }) => readBody(body)),
    );
    await a.close();
    await b.close();
  });

  t.test(
    `${engine.name}: of changes that race one wins, on whatever server, and the others learn its revision`,
    async (t) => {
      const [a, b] = await pair();
      for (let round = 0, mod = 0; round < 10; round++) {
        const racing = Array.from({ length: overlap }, (_, i) =>
          change(mod === 0 ? "create" : "update", "x", mod, `${i}`),
        );
        const outcomes = await Promise.all(racing.map((one, i) => (i % 2 === 0 ? a : b).commit([one])));
        const won = revisionsOf(outcomes.flat());
        t.equal(won.length, 1);
        mod = won[0] ?? 0;
        t.same(
          outcomes.flat().filter((outcome) => !("revision" in outcome)),
          Array.from({ length: overlap - 1 }, () => ({ actual: mod })),
        );
      }
      await a.close();
      await b.close();
    },
  );

  t.test(`${engine.name}: changes of a key in one batch are made in order, beside other batches`, async (t) => {
    const [a, b] = await pair();
    const batches = await Promise.all(
      Array.from({ length: overlap }, (_, i) =>
        (i % 2 === 0 ? a : b).commit([
          change("create", `k${i}`, 0, "1"),
          change("create", `other${i}`, 0, "1"),
          change("create", `k${i}`, 0, "2"),
        ]),
      ),
    );
    for (const [first, other, second] of batches) {
      if (first === undefined || !("revision" in first)) throw new Error("The first change was not made");
      t.ok(other !== undefined && "revision" in other);
      t.same(second, { actual: first.revision });
    }
    await a.close();
    await b.close();
  });

  t.test(`${engine.name}: a guard holds against changes of another server`, async (t) => {
    const [a, b] = await pair();
    const namespace = (type: "create" | "update", expected: number) =>
      change(type, "a", expected, "", 0, "/registry/namespaces");
    const [made] = revisionsOf(await a.commit([namespace("create", 0)]));
    const guard = { key: "/registry/namespaces/a", revision: made ?? 0 };
    const [one] = await b.commit([{ ...change("create", "a/x", 0), guard }]);
    t.ok(one !== undefined && "revision" in one);
    const [marked] = revisionsOf(await a.commit([namespace("update", made ?? 0)]));
    t.same(await b.commit([{ ...change("create", "a/y", 0), guard }]), [{ guarded: marked }]);
    await a.close();
    await b.close();
  });

  t.test(`${engine.name}: listAt() reads any revision above the floor, page by page`, async (t) => {
    const [a, b] = await pair();
    if (a.listAt === undefined || b.listAt === undefined) {
      t.comment("the engine has no past");
      return;
    }
    const names = ["ns/a", "ns/b", "ns/c", "ns2/a", "other/x"];
    const made = revisionsOf(await a.commit(names.map((name) => change("create", name, 0, "1"))));
    const then = made.at(-1) ?? 0;
    const later = await a.commit([
      change("update", "ns/a", made[0] ?? 0, "2"),
      change("delete", "ns/b", made[1] ?? 0),
      change("create", "ns/d", 0, "2"),
    ]);
    await delivered(b, Math.max(...revisionsOf(later)));
    const read = async (revision: number, namespace: string, limit: number): Promise<string[][]> => {
      const pages: string[][] = [];
      for (let after = "", left = 1; left > 0; ) {
        const page = await b.listAt?.({ revision, prefix: "/registry/configmaps", namespace, after, limit });
        if (page === undefined) throw new Error("There is no page");
        t.ok(page.records.length <= limit && (page.records.length > 0 || page.remaining === 0));
        for (const { revision: mod, body } of page.records) t.equal(readBody(body).version, `${mod}`);
        pages.push(page.records.map(({ key, body }) => `${key.slice(21)}=${readBody(body).value}`));
        after = page.records.at(-1)?.key.slice(21) ?? "";
        left = page.remaining;
      }
      return pages;
    };
    t.same(
      (await read(then, "", limits.pastPageRecords)).flat(),
      names.map((name) => `${name}=1`),
    );
    t.same((await read(then, "ns", 2)).flat(), ["ns/a=1", "ns/b=1", "ns/c=1"]);
    t.same((await read(then, "n", 2)).flat(), [], "a namespace is not the beginning of another one");
    t.same((await read(b.revision, "ns", 1)).flat(), ["ns/a=2", "ns/c=1", "ns/d=2"]);
    for (let done = false; !done; ) done = await b.compact(b.revision);
    await t.rejects(a.listAt({ revision: then, prefix: "/registry/configmaps", namespace: "", after: "", limit: 1 }), {
      name: "StoreError",
      kind: "compacted",
    });
    await a.close();
    await b.close();
  });
}
