// Watches across the life of a server: a shutdown ends them in order with a last bookmark, and whoever comes back with
// that bookmark's version to the restarted server gets exactly what happened since.
import { request } from "node:https";
import t from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";

interface Line {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name?: string; readonly resourceVersion: string } };
}

/** One watch: what it got, and how it ended. */
class Watch {
  readonly lines: Line[] = [];
  opened = false;
  /** The answer came to its proper end. */
  ended = false;
  broken = false;

  constructor(server: TestServer, path: string) {
    const headers = { authorization: `Bearer ${server.token}` };
    const sent = request(server.base + path, { headers, ca: server.ca, agent: false }, (answer) => {
      this.opened = answer.statusCode === 200;
      let rest = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.trim() !== "") this.lines.push(JSON.parse(line) as Line);
      });
      answer.on("error", () => {
        this.broken = true;
      });
      answer.on("end", () => {
        this.ended = answer.complete;
      });
    });
    sent.on("error", () => {
      this.broken = true;
    });
    sent.end();
  }

  get seen(): string[] {
    return this.lines.map(({ type, object }) => `${type} ${object.metadata.name ?? ""}`);
  }

  get version(): string {
    return this.lines.at(-1)?.object.metadata.resourceVersion ?? "";
  }
}

const maps = "/api/v1/namespaces/default/configmaps";

function map(name: string, labels: Record<string, string> = {}) {
  return { kind: "ConfigMap", apiVersion: "v1", metadata: { name, labels } };
}

t.test("watches end with a bookmark at a shutdown and go on from it at the next start", async (t) => {
  const first = await startServer(["--shutdown-delay-duration=0s"]);
  const query = `?watch=1&allowWatchBookmarks=true&resourceVersion=0`;
  const selectors = ["", "&labelSelector=on%3Dyes", "&fieldSelector=metadata.name%3Da"];
  const watches = selectors.map((selector) => new Watch(first, `${maps}${query}${selector}`));
  const silent = new Watch(first, `${maps}?watch=1&resourceVersion=0`);
  t.ok(await eventually(() => watches.every(({ opened }) => opened) && silent.opened));
  t.equal((await first.call("POST", maps, map("a", { on: "yes" }))).code, 201);
  t.equal((await first.call("POST", maps, map("b"))).code, 201);
  t.equal((await first.call("PUT", `${maps}/a`, map("a"))).code, 200);
  const expected = [
    ["ADDED a", "ADDED b", "MODIFIED a"],
    ["ADDED a", "DELETED a"],
    ["ADDED a", "MODIFIED a"],
  ];
  const seen = (): boolean =>
    watches.every((watch, index) => (expected[index] as string[]).every((event) => watch.seen.includes(event)));
  t.ok(await eventually(seen), "every change arrived");
  t.equal(await first.stop("SIGTERM", false), 0);
  for (const [index, watch] of watches.entries()) {
    // The namespace's own map, where there is one, is none of the test's.
    const own = watch.seen.filter((event) => !event.includes("root-ca"));
    t.same(own, [...(expected[index] as string[]), "BOOKMARK "], `${selectors[index]}`);
    t.ok(watch.ended, "a proper end");
  }
  t.ok(silent.ended);
  t.notOk(silent.seen.includes("BOOKMARK "), "no bookmark for who asked for none");

  const second = await startServer([], first.dir);
  const resumed = selectors.map((selector, index) => {
    return new Watch(second, `${maps}?watch=1&resourceVersion=${watches[index]?.version}${selector}`);
  });
  t.ok(await eventually(() => resumed.every(({ opened }) => opened)));
  t.equal((await second.call("PUT", `${maps}/a`, map("a", { on: "yes" }))).code, 200);
  t.equal((await second.call("DELETE", `${maps}/b`)).code, 200);
  const since = [["MODIFIED a", "DELETED b"], ["ADDED a"], ["MODIFIED a"]];
  t.ok(await eventually(() => resumed.every(({ seen }, index) => seen.length >= (since[index] as string[]).length)));
  for (const [index, watch] of resumed.entries()) t.same(watch.seen, since[index], `${selectors[index]}`);
  // A watch from before the restart's first change: history is kept on disk.
  const old = new Watch(
    second,
    `${maps}?watch=1&resourceVersion=${watches[0]?.lines.at(-2)?.object.metadata.resourceVersion}`,
  );
  t.ok(await eventually(() => old.seen.length >= 2));
  t.same(old.seen, since[0]);
  t.equal(await second.stop(), 0);
});
