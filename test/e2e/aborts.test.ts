// Clients that leave at any moment of any request: nothing is kept for them, and others are served (ATTACKS O6).
import { connect } from "node:tls";
import t from "tap";
import { loadsUws } from "../../src/http/uwsbuild.ts";
import { random } from "../support/random.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";

/** Requests as bytes; `n` makes names differ. */
function requests(token: string, n: number): string[] {
  const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\n`;
  const send = (method: string, path: string, body: unknown): string => {
    const text = JSON.stringify(body);
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    return `${method} ${path} HTTP/1.1\r\n${head}Content-Type: ${type}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  };
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${head}\r\n`;
  const data = { filler: "x".repeat(20_000) };
  return [
    get(`${maps}/none`),
    get("/api/v1/configmaps"),
    get("/api/v1/configmaps?limit=3"),
    get(`/api/v1/configmaps?resourceVersion=99999999&resourceVersionMatch=NotOlderThan`),
    get("/api/v1/configmaps?watch=1"),
    get("/api/v1/configmaps?watch=1&resourceVersion=0&allowWatchBookmarks=true"),
    get("/metrics"),
    get("/apis"),
    send("POST", maps, { metadata: { name: `m-${n}` }, data }),
    send("PUT", `${maps}/m-${n - 8}`, { metadata: { name: `m-${n - 8}` }, data }),
    send("PATCH", `${maps}/m-${n - 16}`, { data: { more: "y" } }),
    `DELETE ${maps}/m-${n - 32} HTTP/1.1\r\n${head}\r\n`,
  ];
}

/** Sends `bytes` whole or in part and leaves after `ms`: at once or in order. */
function leave(server: TestServer, bytes: string, ms: number, politely: boolean): Promise<void> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(server.base);
    const socket = connect({ host: hostname, port: Number(port), ca: server.ca, servername: "localhost" }, () => {
      socket.write(bytes);
      setTimeout(() => (politely ? socket.end() : socket.destroy()), ms);
    });
    socket.resume();
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    setTimeout(() => socket.destroy(), 3_000).unref();
  });
}

for (const front of ["uws", "node"]) {
  if (front === "uws" && !loadsUws()) continue;
  t.test(`clients that leave at any moment leave nothing on the ${front} front`, async (t) => {
    const server = await startServer([`--front=${front}`]);
    t.teardown(() => server.stop("SIGKILL"));
    const pick = random(7);
    for (let round = 0; round < 40; round++) {
      const all = requests(server.token, round * 8);
      await Promise.all(
        all.map((bytes) => {
          const part = pick(3) === 0 ? bytes.slice(0, pick(bytes.length)) : bytes;
          return leave(server, part, pick(12), pick(2) === 0);
        }),
      );
    }
    const figure = (text: string, name: string): number =>
      Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? -1);
    const clean = async (): Promise<boolean> => {
      const answers = await server.each("/metrics");
      return answers.every(
        ({ text }) =>
          // The one that asks is under way itself.
          figure(text, 'apiserver_current_inflight_requests{request_kind="readOnly"}') === 1 &&
          figure(text, 'apiserver_current_inflight_requests{request_kind="mutating"}') === 0 &&
          !/^apiserver_longrunning_gauge\{[^}]*\} [1-9]/m.test(text),
      );
    };
    t.ok(await eventually(clean), "no request and no watch is left");
    t.equal((await server.call("GET", "/readyz")).code, 200, "others are served");
    t.notMatch(server.errors(), /"level":"(?:error|fatal)"|crash/i, "nothing went wrong");
    t.equal(await server.stop("SIGTERM"), 0, "it goes down in order");
  });
}
