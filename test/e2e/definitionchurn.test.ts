// X37: definitions are made and removed over and over in a running server. What is served is told alike by all fronts and
// in all documents, from the moment a definition is established until it is gone; and clients of other kinds never notice.
import t from "tap";
import { definitions } from "../support/definitions.ts";
import { Line } from "../support/line.ts";
import { inspectable, LiveHeap } from "../support/liveheap.ts";
import { drawSchema, version } from "../support/published.ts";
import { startServer, type TestServer } from "../support/server.ts";

t.setTimeout(300_000);

type Json = Record<string, unknown>;

/** At a time, and how often. */
const batch = 25;
const rounds = Math.ceil(Number(process.env["ORCH_TEST_CHURN"] ?? 500) / batch);
/** Connections that each front has some of. */
const connections = 6;
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

function groupOf(number: number): string {
  return `churn-${number}.example.com`;
}

function definition(plural: string, kind: string, group: string, schema: Json): Json {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names: { plural, kind }, versions: [version("v1", schema)] },
  };
}

/** Waits for definitions by one watch. */
class Definitions {
  readonly #waiting = new Map<string, () => void>();
  readonly close: () => void;

  constructor(server: TestServer) {
    this.close = server.watch(`${definitions}?watch=1`, ({ type, object }) => {
      const { metadata, status } = object as {
        metadata: { name: string };
        status: { conditions?: { type: string; status: string }[] };
      };
      const isUp = status.conditions?.some((one) => one.type === "Established" && one.status === "True") === true;
      const what = type === "DELETED" ? "gone" : isUp ? "established" : "";
      this.#waiting.get(`${what} ${metadata.name}`)?.();
    });
  }

  heard(what: "established" | "gone", name: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(`${what} ${name}`, () => {
        this.#waiting.delete(`${what} ${name}`);
        resolve();
      });
    });
  }
}

type Note = (what: string) => void;

/** What a front tells of what is served: groups in each document, and the kinds of the OpenAPI document. */
async function told(line: Line, withOpenApi: boolean): Promise<Record<string, Set<string>>> {
  const groups = await line.call("GET", "/apis");
  const whole = await line.call("GET", "/apis", undefined, aggregated);
  const names = (list: { name: string }[]): Set<string> => new Set(list.map(({ name }) => name));
  const found = {
    "/apis": names(groups.json.groups),
    aggregated: new Set<string>(whole.json.items.map((item: { metadata: { name: string } }) => item.metadata.name)),
  };
  if (!withOpenApi) return found;
  const index = await line.call("GET", "/openapi/v3");
  const paths = Object.keys(index.json.paths).filter((path) => path.endsWith("/v1"));
  const v2 = await line.call("GET", "/openapi/v2");
  const ofKinds = [...v2.text.matchAll(/"group":"([^"]+)","kind":"(?:Churned|Stays)"/g)].map((match) => match[1] ?? "");
  return {
    ...found,
    "/openapi/v3": new Set(paths.map((path) => path.replace(/^apis\/|\/v1$/g, ""))),
    "/openapi/v2": new Set(ofKinds),
  };
}

/** Looks whether a front serves these groups in all it tells, or tells nothing of them. */
async function agrees(line: Line, groups: readonly string[], areServed: boolean, withOpenApi: boolean, note: Note) {
  const all = await told(line, withOpenApi);
  for (const [document, names] of Object.entries(all)) {
    const wrong = groups.filter((group) => names.has(group) !== areServed);
    if (wrong.length > 0) note(`${document}: ${wrong.length} groups are ${areServed ? "missing" : "left"}`);
    if (!names.has("stays.example.com")) note(`${document}: what stays is missing`);
  }
  const [some = ""] = groups;
  const [group, resources, index] = [
    await line.call("GET", `/apis/${some}`),
    await line.call("GET", `/apis/${some}/v1`),
    await line.call("GET", "/openapi/v3"),
  ];
  for (const { code } of [group, resources]) {
    if (code !== (areServed ? 200 : 404))
      note(`discovery of a group that is ${areServed ? "" : "not "}served: ${code}`);
  }
  if (!areServed) return;
  const names = (resources.json?.resources ?? []).map(({ name }: { name: string }) => name);
  if (names.join() !== "churns") note(`resources: ${names}`);
  const where = index.json.paths[`apis/${some}/v1`]?.serverRelativeURL ?? "";
  const document = await line.call("GET", where);
  if (document.code !== 200 || !document.text.includes(`"kind":"Churned"`))
    note(`/openapi/v3 of a group: ${document.code}`);
}

async function churn(lines: readonly Line[], watch: Definitions, from: number, note: Note): Promise<void> {
  const groups = Array.from({ length: batch }, (_, at) => groupOf(from + at));
  const lineOf = (at: number): Line => lines[at % lines.length] as Line;
  const define = async (group: string, at: number): Promise<void> => {
    const up = watch.heard("established", `churns.${group}`);
    const made = await lineOf(at).call(
      "POST",
      definitions,
      definition("churns", "Churned", group, drawSchema(at, 8192)),
    );
    if (made.code !== 201) return note(`define: ${made.code} ${made.text.slice(0, 300)}`);
    await up;
    const path = `/apis/${group}/v1/namespaces/default/churns`;
    const object = { apiVersion: `${group}/v1`, kind: "Churned", metadata: { name: "a" } };
    const created = await lineOf(at + 1).call("POST", path, object);
    if (created.code !== 201) note(`create: ${created.code} ${created.text.slice(0, 300)}`);
  };
  const remove = async (group: string, at: number): Promise<void> => {
    const down = watch.heard("gone", `churns.${group}`);
    const removed = await lineOf(at).call("DELETE", `${definitions}/churns.${group}`);
    if (removed.code !== 200) return note(`remove: ${removed.code}`);
    await down;
    const { code } = await lineOf(at + 1).call("GET", `/apis/${group}/v1/namespaces/default/churns`);
    if (code !== 404) note(`after: ${code}`);
  };
  const withOpenApi = from % (5 * batch) === 0;
  await Promise.all(groups.map(define));
  await Promise.all(lines.map((line) => agrees(line, groups, true, withOpenApi, note)));
  await Promise.all(groups.map(remove));
  await Promise.all(lines.map((line) => agrees(line, groups, false, withOpenApi, note)));
}

/** A client of kinds that stay: what it does never fails. */
async function others(line: Line, at: number, isOver: () => boolean, note: Note): Promise<number> {
  const kinds = [
    ["/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"],
    ["/apis/stays.example.com/v1/namespaces/default/stays", "stays.example.com/v1", "Stays"],
  ] as const;
  let done = 0;
  for (; !isOver(); done += 1) {
    const [path, apiVersion, kind] = kinds[done % 2] as (typeof kinds)[number];
    const name = `other-${at}`;
    const steps = [
      ["POST", path, 201, { apiVersion, kind, metadata: { name } }],
      ["GET", `${path}/${name}`, 200],
      ["GET", `${path}?limit=5`, 200],
      ["DELETE", `${path}/${name}`, 200],
      ["GET", `/apis/stays.example.com/v1`, 200],
      ["GET", "/api/v1", 200],
    ] as const;
    for (const [method, target, wanted, body] of steps) {
      const { code, text } = await line.call(method, target, body);
      if (code !== wanted) note(`others: ${method} ${target}: ${code} ${text.slice(0, 200)}`);
    }
  }
  return done;
}

function logsOf(text: string): number {
  return text.split("\n").filter((line) => line.startsWith("orch_log_bytes{")).length;
}

t.test(
  `X37: ${rounds * batch} definitions come and go under load, told alike everywhere, and others do not notice`,
  async (t) => {
    const server = await startServer(["--identity=kubernetes", "--front-workers=2"], undefined, {
      nodeOptions: inspectable,
    });
    const heap = await LiveHeap.open(server.errors());
    t.teardown(() => server.stop());
    const lines = Array.from({ length: connections }, () => new Line(server));
    const apart = [new Line(server), new Line(server)];
    const watch = new Definitions(server);
    t.teardown(() => {
      heap.close();
      watch.close();
      for (const line of [...lines, ...apart]) line.close();
    });
    const faults = new Map<string, number>();
    const note: Note = (what) => void faults.set(what, (faults.get(what) ?? 0) + 1);
    const up = watch.heard("established", "stays.stays.example.com");
    const [first] = lines as [Line];
    const stays = definition("stays", "Stays", "stays.example.com", drawSchema(1, 8192));
    t.equal((await first.call("POST", definitions, stays)).code, 201);
    await up;
    let [isOver, ends] = [false, 0];
    const events: string[] = [];
    const stop = server.watch(
      "/apis/stays.example.com/v1/stays?watch=1",
      ({ type }) => events.push(type),
      () => (ends += 1),
    );
    const busy = apart.map((line, at) => others(line, at, () => isOver, note));

    await churn(lines, watch, 0, note);
    const before = (await first.call("GET", "/metrics")).text;
    let halfway = 0;
    for (let round = 1; round < rounds; round += 1) {
      if (round === Math.ceil(rounds / 2)) halfway = await heap.bytes();
      await churn(lines, watch, round * batch, note);
    }
    isOver = true;
    const done = await Promise.all(busy);
    t.same([...faults], []);
    const written = done.reduce((sum, count) => sum + 2 * Math.floor(count / 2), 0);
    t.ok(written > rounds, `${done} rounds of others beside it`);
    t.ok(events.length >= written && ends === 0, `their watch goes on: ${events.length} events, ${ends} ends`);
    stop();

    const after = (await first.call("GET", "/metrics")).text;
    t.equal(logsOf(after), logsOf(before), "logs");
    t.same(
      after
        .split("\n")
        .filter((line) => line.includes("churn-"))
        .slice(0, 5),
      [],
      "no figure names a kind that is gone",
    );
    const grown = ((await heap.bytes()) - halfway) / ((rounds / 2) * batch);
    t.ok(grown < 16 * 1024, `a definition left ${Math.round(grown / 1024)} KiB in the second half`);
    t.notMatch(server.errors(), /"level":"(?:error|fatal)"/);
  },
);
