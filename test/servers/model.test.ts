// Two servers of one store under random writes, deliveries and faults, against what must hold whatever happens: reads
// without a version see every write that was acknowledged before, versions grow, and a counter counts each acknowledged
// increment once and each one in doubt at most once.
import t from "tap";
import { random } from "../support/random.ts";
import { type OneServer, openTwo } from "./two.ts";

const maps = "/api/v1/namespaces/ns/configmaps";
const jsonPatch = { "content-type": "application/json-patch+json" };
const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
const rounds = Number(process.env["ORCH_ROUNDS"] ?? 6);
const names = ["c0", "c1", "c2"];

/** What is known of one counter. */
interface Counter {
  acknowledged: number;
  doubtful: number;
}

/** Lets a server's deliveries stop and go on, and its store fail, until it is told to end. */
async function disturb({ store }: OneServer, pick: (max: number) => number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const what = pick(8);
    if (what === 0) store.pause();
    else if (what === 1) store.step(1 + pick(3));
    else store.resume();
    const fates = ["made", "made", "made", "made in doubt", "lost in doubt", "unavailable"] as const;
    store.before = pick(3) === 0 ? () => fates[pick(fates.length)] ?? "made" : undefined;
    store.after = pick(2) === 0 ? () => turns(pick(6)) : undefined;
    store.answering = pick(2) === 0 ? () => turns(pick(6)) : undefined;
    await turns(1 + pick(8));
  }
  store.before = undefined;
  store.after = undefined;
  store.answering = undefined;
  store.resume();
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

t.test("what two servers acknowledge is seen by both, and each increment counts once", async (t) => {
  t.comment(`ORCH_SEED=${seed}`);
  const pick = random(seed);
  for (let round = 0; round < rounds; round += 1) {
    const servers = await openTwo();
    const { a, b } = servers;
    const counters = new Map<string, Counter>();
    /** The newest version of each counter that any client has read or been given. */
    const versions = new Map<string, number>();
    for (const name of names) {
      await a.call("POST", maps, { metadata: { name }, data: { n: "0" } });
      counters.set(name, { acknowledged: 0, doubtful: 0 });
    }
    const wrong: string[] = [];
    const read = async (server: OneServer, name: string): Promise<number | undefined> => {
      const { acknowledged } = counters.get(name) as Counter;
      const seen = versions.get(name) ?? 0;
      const { code, json } = await server.call("GET", `${maps}/${name}?timeout=2s`);
      if (code === 504) return undefined;
      const n = Number(json.data?.n);
      const version = Number(json.metadata?.resourceVersion);
      if (code !== 200 || n < acknowledged)
        wrong.push(`${name} is read as ${n} after ${acknowledged} were acknowledged (${code})`);
      if (version < seen) wrong.push(`${name} is read at ${version} after ${seen}`);
      versions.set(name, Math.max(versions.get(name) ?? 0, version));
      return n;
    };
    const increment = async (server: OneServer, name: string): Promise<void> => {
      const n = await read(server, name);
      if (n === undefined) return;
      const patch = [
        { op: "test", path: "/data/n", value: `${n}` },
        { op: "replace", path: "/data/n", value: `${n + 1}` },
      ];
      const { code, json } = await server.call("PATCH", `${maps}/${name}?timeout=2s`, patch, jsonPatch);
      const counter = counters.get(name) as Counter;
      if (code === 200) {
        counter.acknowledged += 1;
        if (Number(json.data.n) !== n + 1) wrong.push(`${name} is ${json.data.n} after ${n}`);
        versions.set(name, Math.max(versions.get(name) ?? 0, Number(json.metadata.resourceVersion)));
      } else if (code === 504) counter.doubtful += 1;
      else if (code !== 422 && code !== 503) wrong.push(`an increment of ${name} is answered ${code} ${json.message}`);
    };
    let over = false;
    const disturbing = [a, b].map((server) => disturb(server, pick, () => over));
    const working = Array.from({ length: 6 }, async (_, writer) => {
      for (let step = 0; step < 25; step += 1) {
        const server = pick(2) === 0 ? a : b;
        const name = names[pick(names.length)] as string;
        if (pick(4) === 0) await read(server, name);
        else await increment(server, name);
        if (writer % 2 === 0) await turns(pick(4));
      }
    });
    await Promise.all(working);
    over = true;
    await Promise.all(disturbing);
    for (const name of names) {
      const { acknowledged, doubtful } = counters.get(name) as Counter;
      const [onA, onB] = await Promise.all([a, b].map((server) => server.call("GET", `${maps}/${name}`)));
      const n = Number(onA?.json.data.n);
      if (n < acknowledged || n > acknowledged + doubtful)
        wrong.push(`${name} ends as ${n} of ${acknowledged} and ${doubtful} in doubt`);
      if (onA?.text !== onB?.text) wrong.push(`${name} differs: ${onA?.text} ${onB?.text}`);
    }
    t.same(wrong.slice(0, 3), [], `round ${round}: ${JSON.stringify([...counters])}`);
    t.same([...a.server.faults, ...b.server.faults], []);
    servers.close();
  }
});
