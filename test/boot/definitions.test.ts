// Definitions of custom resources in a server of its own process: established on every front, there again after a restart
// and after a kill, and nothing of what is gone.
import t from "tap";
import { definition, definitions } from "../support/definitions.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

t.setTimeout(600_000);

const flags = ["--identity=kubernetes", "--controllers=", "--front-workers=2"];
const widgets = "/apis/example.com/v1/namespaces/default/widgets";

async function establish(server: TestServer, plural: string, kind: string): Promise<void> {
  const made = await server.call("POST", definitions, definition(plural, kind));
  if (made.code !== 201) throw new Error(made.text);
  const conditions = async (): Promise<unknown> =>
    (await server.call("GET", `${definitions}/${plural}.example.com`)).json.status.conditions?.[1]?.status;
  if (!(await eventually(async () => (await conditions()) === "True", 20_000)))
    throw new Error(`${plural} is not established`);
}

async function gone(server: TestServer, plural: string): Promise<void> {
  const path = `${definitions}/${plural}.example.com`;
  if (!(await eventually(async () => (await server.call("GET", path)).code === 404, 20_000)))
    throw new Error(`${plural} stays`);
}

function widget(name: string, finalizers: string[] = []): object {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name, finalizers } };
}

t.test("what definitions define is served by every front at once, and after a restart and a kill", async (t) => {
  // Controllers are switched off: the life of definitions is the API server's own.
  let server = await startServer(flags);
  t.teardown(() => server.stop("SIGKILL"));
  await establish(server, "widgets", "Widget");
  // Many connections: both fronts answer.
  const creates = Array.from({ length: 40 }, (_, at) => server.call("POST", widgets, widget(`w${at}`)));
  t.same([...new Set((await Promise.all(creates)).map(({ code }) => code))], [201]);
  await establish(server, "empties", "Empty");
  await establish(server, "pasts", "Past");
  t.equal((await server.call("DELETE", `${definitions}/pasts.example.com`)).code, 200);
  await gone(server, "pasts");
  const { dir } = server;
  t.equal(await server.stop("SIGTERM", false), 0);
  server = await startServer(flags, dir);
  const lists = Array.from({ length: 20 }, () => server.call("GET", widgets));
  t.same([...new Set((await Promise.all(lists)).map(({ json }) => json.items?.length))], [40]);
  const empty = Array.from({ length: 20 }, () => server.call("GET", "/apis/example.com/v1/empties"));
  t.same([...new Set((await Promise.all(empty)).map(({ code }) => code))], [200], "the log of no object is there");
  t.equal((await server.call("GET", "/apis/example.com/v1/pasts")).code, 404);
  const held = await server.call("POST", widgets, widget("held", ["x.example.com/y"]));
  t.equal(held.code, 201, held.text);
  t.equal((await server.call("DELETE", `${definitions}/widgets.example.com`)).code, 200);
  await server.stop("SIGKILL", false);
  server = await startServer(flags, dir);
  const left = async (): Promise<unknown> => (await server.call("GET", widgets)).json.items.length;
  t.ok(await eventually(async () => (await left()) === 1, 20_000));
  const merge = { "content-type": "application/merge-patch+json" };
  const freed = await server.call("PATCH", `${widgets}/held`, { metadata: { finalizers: null } }, merge);
  t.equal(freed.code, 200, freed.text);
  await gone(server, "widgets");
  t.equal((await server.call("GET", widgets)).code, 404);
  await establish(server, "widgets", "Widget");
  t.same((await server.call("GET", widgets)).json.items, []);
  t.equal((await server.call("POST", widgets, widget("again"))).code, 201);
  t.notMatch(server.errors(), /"level":"(?:error|fatal)"/);
});
