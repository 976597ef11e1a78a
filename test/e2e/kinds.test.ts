// Kinds are defined and removed in a running server under load: every front serves them at once and refuses them at once,
// others notice nothing, and nothing is left behind: no log, no figure, no memory.
import { Agent, request } from "node:https";
import t from "tap";
import { inspectable, LiveHeap } from "../support/liveheap.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/** In all, and at a time. */
const kinds = Number(process.env["ORCH_TEST_KINDS"] ?? 10_000);
const batch = 100;
/** Connections that each front has some of. */
const connections = 8;

function groupOf(number: number): string {
  return `group-${number}.example.com`;
}

function definition(number: number): object {
  const group = groupOf(number);
  const names = { plural: "things", singular: "thing", kind: `Thing${number}`, listKind: `Thing${number}List` };
  const schema = {
    type: "object",
    properties: { spec: { type: "object", properties: { size: { type: "integer", default: 3 } } } },
  };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: { group, scope: "Namespaced", names, versions: [version] },
  };
}

/** A connection that stays, and so a front. */
class Line {
  readonly #agent: Agent;
  readonly #server: TestServer;

  constructor(server: TestServer) {
    this.#server = server;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca: server.ca });
  }

  call(method: string, path: string, body?: object): Promise<{ readonly code: number; readonly text: string }> {
    const { base, token } = this.#server;
    const text = body === undefined ? "" : JSON.stringify(body);
    const sent = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : sent) };
    return new Promise((resolve, reject) => {
      const asked = request(base + path, { method, agent: this.#agent, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      });
      asked.on("error", reject);
      asked.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

t.setTimeout(900_000);

t.test(
  `${kinds} kinds are defined and removed in a running server, at once on every front, and leave nothing`,
  async (t) => {
    const server = await startServer(["--identity=kubernetes", "--front-workers=2"], undefined, {
      nodeOptions: inspectable,
    });
    t.teardown(() => server.stop());
    const heap = await LiveHeap.open(server.errors());
    t.teardown(() => heap.close());
    const lines = Array.from({ length: connections }, () => new Line(server));
    t.teardown(() => {
      for (const line of lines) line.close();
    });
    const [first, other] = lines as [Line, Line];
    const faults = new Map<string, number>();
    const note = (what: string): void => void faults.set(what, (faults.get(what) ?? 0) + 1);
    const scrape = async (): Promise<string> => (await first.call("GET", "/metrics")).text;
    const logsOf = (text: string): number =>
      text.split("\n").filter((line) => line.startsWith("orch_log_bytes{")).length;

    // What is watched is established; a status that says so is acknowledged after every front can know.
    const established = new Map<string, () => void>();
    const gone = new Map<string, () => void>();
    const unwatch = server.watch(`${definitions}?watch=1`, ({ type, object }) => {
      const { metadata, status } = object as {
        metadata: { name: string };
        status: { conditions?: { type: string; status: string }[] };
      };
      const isUp = status.conditions?.some((one) => one.type === "Established" && one.status === "True") === true;
      const waiting = type === "DELETED" ? gone : isUp ? established : undefined;
      waiting?.get(metadata.name)?.();
    });
    t.teardown(unwatch);
    const heard = (waiting: Map<string, () => void>, name: string): Promise<void> =>
      new Promise((resolve) => {
        waiting.set(name, () => {
          waiting.delete(name);
          resolve();
        });
      });

    let stop = false;
    let loaded = 0;
    const load = (async () => {
      for (; !stop; loaded++) {
        const path = "/api/v1/namespaces/default/configmaps";
        const name = `load-${loaded % 50}`;
        const made = await other.call("POST", path, { metadata: { name } });
        if (made.code !== 201) note(`load: created ${made.code}`);
        const removed = await other.call("DELETE", `${path}/${name}`);
        if (removed.code !== 200) note(`load: deleted ${removed.code}`);
      }
    })();

    const life = async (number: number, isFull: boolean): Promise<void> => {
      const group = groupOf(number);
      const name = `things.${group}`;
      const path = `/apis/${group}/v1/namespaces/default/things`;
      const line = lines[number % connections] as Line;
      const up = heard(established, name);
      const made = await line.call("POST", definitions, definition(number));
      if (made.code !== 201) return note(`define: ${made.code} ${made.text}`);
      await up;
      for (const each of isFull ? lines : [lines[(number + 1) % connections] as Line]) {
        const { code, text } = await each.call("GET", path);
        if (code !== 200) note(`list: ${code} ${text}`);
      }
      if (isFull) {
        const thing = { apiVersion: `${group}/v1`, kind: `Thing${number}`, metadata: { name: "a" }, spec: { more: 1 } };
        const created = await line.call("POST", path, thing);
        if (created.code !== 201 || !created.text.includes('"spec":{"size":3}'))
          note(`create: ${created.code} ${created.text}`);
      }
      const down = heard(gone, name);
      const removed = await line.call("DELETE", `${definitions}/${name}`);
      if (removed.code !== 200) note(`remove: ${removed.code}`);
      await down;
      for (const each of isFull ? lines : [lines[(number + 2) % connections] as Line]) {
        const { code, text } = await each.call("GET", path);
        if (code !== 404) note(`after: ${code} ${text}`);
      }
    };
    const round = async (from: number): Promise<void> => {
      await Promise.all(Array.from({ length: batch }, (_, at) => life(from + at, at % 25 === 0)));
    };

    // Code is compiled and caches are filled before memory is compared.
    await round(0);
    await round(batch);
    const before = await scrape();
    let halfway = 0;
    for (let from = 2 * batch; from < kinds; from += batch) {
      if (from >= kinds / 2 && halfway === 0) halfway = await heap.bytes();
      await round(from);
    }
    stop = true;
    await load;
    t.same([...faults], []);
    t.ok(loaded > kinds / 100, `${loaded} writes and deletes beside it`);
    const after = await scrape();
    t.equal(logsOf(after), logsOf(before), "logs");
    // Their APIServices go after them.
    let left: string[] = [];
    const isClear = async (): Promise<boolean> => {
      left = (await scrape()).split("\n").filter((line) => /group-\d+\.example\.com/.test(line));
      return left.length === 0;
    };
    await eventually(isClear);
    t.same(left.slice(0, 5), [], "no figure names a kind that is gone");
    const grown = ((await heap.bytes()) - halfway) / (kinds / 2);
    t.ok(grown < 8 * 1024, `a kind left ${Math.round(grown / 1024)} KiB in the second half`);
    t.equal(
      (await first.call("GET", `${definitions}?limit=1`)).text.includes('"items":[]'),
      true,
      "no definition is left",
    );
  },
);
