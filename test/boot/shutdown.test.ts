// SIGTERM under load (F19, X28): a request has a whole answer or was never begun, and what was committed was acknowledged.
import { Agent, request } from "node:https";
import t from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const writers = 40;

interface Outcomes {
  /** Names by what the client was told: the code of a whole answer, 0 for none. */
  readonly told: Map<string, number>;
  /** Answers of 503 that named no time to try again, or left their connection open. */
  readonly bare: string[];
}

/** One create on a connection of `agent`. Resolves with the code, 0 where there was no whole answer. */
function create(server: TestServer, agent: Agent, name: string, { bare }: Outcomes): Promise<number> {
  const body = JSON.stringify({ metadata: { name } });
  const headers = {
    authorization: `Bearer ${server.token}`,
    "content-type": "application/json",
    "content-length": body.length,
  };
  return new Promise((resolve) => {
    const sent = request(server.base + maps, { method: "POST", agent, headers }, (answer) => {
      if (answer.statusCode === 503 && (!answer.headers["retry-after"] || answer.headers.connection !== "close")) {
        bare.push(name);
      }
      answer.resume();
      answer.on("error", () => resolve(0));
      answer.on("end", () => resolve(answer.complete ? (answer.statusCode ?? 0) : 0));
    });
    sent.on("error", () => resolve(0));
    sent.end(body);
  });
}

/** Writes one object after the other until the server is gone. */
async function write(server: TestServer, writer: number, outcomes: Outcomes): Promise<void> {
  const agent = new Agent({ keepAlive: true, ca: server.ca, maxSockets: 1 });
  let failures = 0;
  for (let n = 0; failures < 3; n += 1) {
    const name = `w${writer}-${n}`;
    const code = await create(server, agent, name, outcomes);
    outcomes.told.set(name, code);
    if (code !== 201) failures += 1;
  }
  agent.destroy();
}

const cases = [
  ["uws", "SIGTERM under 40 writers on the uws front loses no answer and no write"],
  ["node", "SIGTERM under 40 writers on the node front loses no answer and no write"],
] as const;

for (const [front, title] of cases) {
  t.test(title, async (t) => {
    const flags = [`--front=${front}`, "--front-workers=2"];
    const server = await startServer(flags);
    t.teardown(() => server.stop("SIGKILL"));
    const outcomes: Outcomes = { told: new Map(), bare: [] };
    const all = Promise.all(Array.from({ length: writers }, (_, writer) => write(server, writer, outcomes)));
    t.ok(await eventually(() => outcomes.told.size > 10 * writers, 60_000), "all write");
    t.equal(await server.stop("SIGTERM", false), 0);
    await all;
    t.same(outcomes.bare, [], "who is refused is told to come again, and the connection ends");
    const codes = new Set(outcomes.told.values());
    t.same(
      [...codes].filter((code) => ![0, 201, 503].includes(code)),
      [],
    );
    const again = await startServer(flags, server.dir);
    t.teardown(() => again.stop("SIGKILL"));
    const list = await again.call("GET", maps);
    const stored = new Set(list.json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name));
    const of = (wanted: (code: number) => boolean): string[] =>
      [...outcomes.told].filter(([, code]) => wanted(code)).map(([name]) => name);
    t.same(
      of((code) => code === 201).filter((name) => !stored.has(name)),
      [],
      "what was acknowledged is there",
    );
    t.same(
      of((code) => code !== 201).filter((name) => stored.has(name)),
      [],
      "what is there was acknowledged",
    );
  });
}
