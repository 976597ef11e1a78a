// How much the server's threads log, changed while they run.
import { request } from "node:https";
import t from "tap";
import { eventually, startServer } from "../support/server.ts";

t.test("a verbosity set while running reaches every front, and is taken back", async (t) => {
  const server = await startServer(["--identity=kubernetes", "--front-workers=2"]);
  t.teardown(() => server.stop("SIGKILL"));
  const lines = (path: string): string[] =>
    server
      .errors()
      .split("\n")
      .filter((line) => line.includes(path));
  let asked = 0;
  const ask = async (): Promise<string> => {
    const path = `/api/v1/namespaces/default/configmaps/n${asked++}`;
    // A connection each: which front gets it is up to the system.
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${server.token}` };
      const sent = request(`${server.base}${path}?trace=1`, { agent: false, ca: server.ca, headers }, (answer) => {
        answer.resume();
        answer.on("end", () => resolve());
      });
      sent.on("error", reject);
      sent.end();
    });
    return path;
  };
  t.strictSame(lines(await ask()), [], "requests are not logged");
  const set = async (verbosity: string): Promise<number> =>
    (await server.call("PUT", "/debug/flags/v", verbosity, { "content-type": "text/plain" })).code;
  t.equal(await set("4"), 200);
  const threads = new Set<string>();
  const logged = async (): Promise<boolean> => {
    for (const line of lines(await ask())) {
      const { thread, timing } = JSON.parse(line) as { thread: string; timing?: { total?: number } };
      if (typeof timing?.total === "number") threads.add(thread);
    }
    return threads.size === 2;
  };
  t.ok(await eventually(logged), "then they are, by both, with the time of their stages");
  t.equal(await set("0"), 200);
  t.ok(await eventually(async () => lines(await ask()).length === 0), "and then no more");
});
