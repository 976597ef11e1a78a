// Kinds that another server defined: a client that knows of them is served at any server. Two servers over one store, whose
// deliveries are in the test's hand.
import t, { type Test } from "tap";
import { definition, definitions, establishedIn, goneFrom, runDefinitions } from "../support/definitions.ts";
import { isPending, openTwo, type TwoServers } from "./two.ts";

const widgets = "/apis/example.com/v1/namespaces/ns/widgets";
const widget = (name: string) => ({ apiVersion: "example.com/v1", kind: "Widget", metadata: { name } });

/** A test with two servers, each with the controller of its definitions; `idle` waits until both have nothing to do. */
function running(
  name: string,
  work: (t: Test, servers: TwoServers, idle: () => Promise<unknown>) => Promise<void>,
): void {
  t.test(name, async (t) => {
    const servers = await openTwo();
    const reports: string[] = [];
    const controllers = [servers.a, servers.b].map(({ server }) => runDefinitions(server, reports));
    t.teardown(async () => {
      servers.a.store.resume();
      servers.b.store.resume();
      await Promise.all(controllers.map((controller) => controller.stop()));
      servers.close();
    });
    await work(t, servers, () => Promise.all(controllers.map((controller) => controller.idle())));
    for (const { server } of [servers.a, servers.b]) t.same(server.faults, []);
  });
}

running("what a definition defines is served by another server however late it hears of it", async (t, { a, b }) => {
  b.store.pause();
  t.equal((await a.call("POST", definitions, definition("widgets", "Widget"))).code, 201);
  t.ok(await establishedIn(a.server, "widgets.example.com"));
  const requests = [
    b.call("POST", widgets, widget("w")),
    b.call("GET", widgets),
    b.call("GET", `${widgets}/none`),
    b.call("GET", "/apis/example.com/v1"),
    b.call("GET", "/apis"),
    b.call("GET", "/openapi/v3"),
  ] as const;
  for (const request of requests) t.ok(await isPending(request), "nothing is refused before it is here");
  b.store.resume();
  const [made, list, none, discovered, groups, documents] = await Promise.all(requests);
  t.equal(made.code, 201, made.text);
  t.equal(list.code, 200, list.text);
  t.match(none.json, { code: 404, details: { kind: "widgets", name: "none" } });
  t.match(discovered.json, { resources: [{ name: "widgets" }, { name: "widgets/status" }] });
  t.ok(groups.json.groups.some((group: { name: string }) => group.name === "example.com"));
  t.ok(documents.json.paths["apis/example.com/v1"]);
});

running("a kind that is here asks no question that others do not ask", async (t, { a, b }, idle) => {
  t.equal((await a.call("POST", definitions, definition("widgets", "Widget"))).code, 201);
  t.ok(await establishedIn(b.server, "widgets.example.com"));
  t.equal((await b.call("POST", widgets, widget("first"))).code, 201);
  await idle();
  const { questions } = b.store;
  t.equal((await b.call("POST", widgets, widget("second"))).code, 201);
  t.equal((await b.call("GET", `${widgets}?resourceVersion=0`)).code, 200);
  t.equal(b.store.questions, questions);
  t.equal((await b.call("GET", "/apis/example.com/v1/namespaces/ns/none")).code, 404);
  t.equal(b.store.questions, questions + 1, "what is not served does");
});

running("a kind whose definition is gone is served no more by another server", async (t, { a, b }) => {
  t.equal((await a.call("POST", definitions, definition("widgets", "Widget"))).code, 201);
  t.ok(await establishedIn(b.server, "widgets.example.com"));
  t.equal((await b.call("GET", widgets)).code, 200);
  b.store.pause();
  t.equal((await a.call("DELETE", `${definitions}/widgets.example.com`)).code, 200);
  t.ok(await goneFrom(a.server, "widgets.example.com"));
  const requests = [b.call("GET", widgets), b.call("GET", `${widgets}/w`), b.call("GET", "/apis/example.com")];
  for (const request of requests) t.ok(await isPending(request));
  b.store.resume();
  for (const { code, text } of await Promise.all(requests)) t.equal(code, 404, text);
});

running("a store that does not answer refuses what is not known to be served, and no document", async (t, { b }) => {
  b.store.isAway = true;
  const refused = await b.call("GET", widgets);
  t.match(refused.json, { code: 504, reason: "Timeout", details: { retryAfterSeconds: 1 } });
  t.equal((await b.call("GET", "/apis")).code, 200);
  t.equal((await b.call("GET", "/apis/apps/v1")).code, 200);
  t.equal((await b.call("GET", "/api/v1")).code, 200);
  b.store.isAway = false;
  t.equal((await b.call("GET", widgets)).code, 404);
});
