// The console of a running server: who gets it, what it says, and that a browser shows it without a complaint.
import { createServer, type Server } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import t from "tap";
import { connectionOf, runTop, topFlags } from "../../../src/boot/console/top.ts";
import type { ConsoleData } from "../../../src/observe/console/data.ts";
import { noBrowser, openPage } from "../../support/programs/browser.ts";
import { eventually, startServer, type TestServer } from "../../support/server.ts";
import { noSingleServer } from "../../support/servers/storage.ts";

/** Passes requests on with the administrator's token, as `kubectl proxy` does. */
async function proxyTo(server: TestServer): Promise<{ url: string; proxy: Server }> {
  const proxy = createServer((incoming, answer) => {
    const headers = { authorization: `Bearer ${server.token}`, "accept-encoding": "gzip" };
    const passed = request(`${server.base}${incoming.url}`, { ca: server.ca, headers }, (from) => {
      answer.writeHead(from.statusCode ?? 500, from.headers);
      from.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    passed.end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, proxy };
}

t.test("The console", { skip: noSingleServer }, async (t) => {
  const server = await startServer(["--front-workers=2"]);
  t.teardown(() => server.stop("SIGKILL"));
  const maps = "/api/v1/namespaces/default/configmaps";

  await t.test("is for administrators", async (t) => {
    for (const path of ["/debug/console", "/debug/console/data", "/debug/console/profile"]) {
      const answer = await server.call("GET", path, undefined, { "impersonate-user": "somebody" });
      t.equal(answer.code, 403, path);
    }
  });

  await t.test("tells of threads, logs and clients, and of no query", async (t) => {
    const secret = "hidden-value";
    for (let i = 0; i < 5; i++) await server.call("POST", maps, { metadata: { name: `m${i}` } });
    for (let i = 0; i < 9; i++) await server.call("GET", `${maps}?labelSelector=a%3D${secret}`);
    const close = server.watch(`${maps}?watch=1`, () => undefined);
    t.teardown(close);
    const read = async (): Promise<ConsoleData> => (await server.call("GET", "/debug/console/data")).json;
    t.ok(await eventually(async () => (await read()).clients.watches.some(({ count }) => count === 1)));
    const { code, text } = await server.call("GET", "/debug/console/data");
    t.equal(code, 200);
    t.notMatch(text, secret);
    const data = JSON.parse(text) as ConsoleData;
    t.same(
      data.threads.map(({ name }) => name),
      ["front-0", "front-1", "store", "pool", "controllers", "main"],
    );
    for (const { name, cpuSeconds } of data.threads) t.ok(name === "pool" || cpuSeconds > 0, name);
    const log = data.logs.find(({ resource }) => resource === "configmaps");
    t.ok((log?.writes ?? 0) >= 5);
    t.ok(log !== undefined && log.objects >= 5);
    const admin = data.clients.requests[0];
    t.ok((admin?.count ?? 0) >= 14, "requests of a client");
    t.ok((data.clients.listBytes[0]?.count ?? 0) > 0, "and bytes of its lists");
    t.ok(data.requests.total >= 14);
    t.ok(data.store.commit.count > 0);
  });

  await t.test("takes a profile of any thread, one at a time", async (t) => {
    const profile = (query: string) => server.call("GET", `/debug/console/profile?${query}`);
    t.equal((await profile("seconds=1000")).code, 400);
    t.equal((await profile("thread=none&seconds=1")).code, 404);
    const both = await Promise.all([profile("thread=front-1&seconds=1"), profile("thread=front-1&seconds=1")]);
    t.same(both.map(({ code }) => code).sort(), [200, 429]);
    for (const thread of ["store", "main"]) t.equal((await profile(`thread=${thread}&seconds=1`)).json.name, "all");
  });

  await t.test("runs nothing but its own script", async (t) => {
    const { code, headers, text } = await server.call("GET", "/debug/console");
    t.equal(code, 200);
    t.match(headers["content-security-policy"], /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-/);
    t.notMatch(text, /<(?:script|link|img)[^>]+(?:src|href)=/);
  });

  await t.test("is printed by top", async (t) => {
    const lines: string[] = [];
    const values = new Map([...topFlags.map((flag) => [flag.name, flag.default] as const), ["once", "true"]] as const);
    const output = { columns: 100, write: (text: string) => lines.push(...text.split("\n")) };
    await runTop(new Map([...values, ["kubeconfig", server.kubeconfig]]), output);
    t.match(lines[0], /^orch \d/);
    for (const thread of ["front-0", "front-1", "store"])
      t.ok(
        lines.some((line) => line.startsWith(`${thread} `)),
        thread,
      );
    const wrong = runTop(new Map([...values, ["kubeconfig", server.kubeconfig], ["token", "none"]]), output);
    await t.rejects(wrong, /the server answers 401; top is for administrators/);
    const none = new Map([...values, ["data-dir", "/nonexistent"]]);
    t.throws(() => connectionOf(none), /name a file by --kubeconfig, or a server by --server and --token/);
  });

  await t.test("is shown by a browser", { skip: noBrowser }, async (t) => {
    const { url, proxy } = await proxyTo(server);
    t.teardown(() => proxy.close());
    const page = await openPage(`${url}/debug/console`);
    t.teardown(() => page.close());
    const rows = "document.querySelectorAll('#threads tbody tr').length";
    t.ok(await eventually(async () => (await page.evaluate(rows)) === 6), "a row for each thread");
    t.ok(
      await eventually(async () =>
        /\w/.test(await page.evaluate("document.querySelector('#headline strong').textContent")),
      ),
    );
    t.match(await page.evaluate("document.getElementById('clients').textContent"), /admin/);
    for (const scheme of ["light", "dark"] as const) {
      t.ok((await page.picture(420, scheme)).length > 10_000, scheme);
      t.ok(await page.evaluate("document.documentElement.scrollWidth <= 420"), "no part is wider than the window");
    }
    t.same(page.said, [], "nothing was refused by its policy, and nothing failed");
  });
});
