import { Agent, createServer, get, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import t, { type Test } from "tap";
import { createAuthority, issueServing } from "../../../src/pki/x509.ts";
import { eventually } from "../server.ts";
import { Balancer } from "./balancer.ts";

const authority = await createAuthority("servers", validity());
const { certificate: cert, key } = await issueServing(authority, ["127.0.0.1"], validity());
const ca = authority.certificate;

function validity(): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 86_400_000) };
}

/** A server that says who it is; what it says of its readiness is up to the test. */
class Named {
  code = 200;
  /** Answers that are begun and never ended. */
  isSlow = false;
  readonly #name: string;
  #server: Server | undefined;
  #port = 0;

  constructor(name: string) {
    this.#name = name;
  }

  get base(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  async up(): Promise<this> {
    const server = createServer({ cert, key }, (request, response) => {
      if (this.isSlow) return;
      if (request.url === "/readyz") response.writeHead(this.code).end();
      else response.end(this.#name);
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
    return this;
  }

  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

/** Who answers; "broken": no server. */
function ask(base: string, agent: Agent | false = false): Promise<string> {
  return new Promise((resolve) => {
    const sent = get(base, { ca, agent }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => (text += chunk));
      answer.on("end", () => resolve(text));
      answer.on("error", () => resolve("broken"));
    });
    sent.on("error", () => resolve("broken"));
  });
}

async function open(t: Test): Promise<{ a: Named; b: Named; base: string; balancer: Balancer }> {
  const [a, b] = [await new Named("a").up(), await new Named("b").up()];
  const balancer = await Balancer.open([a, b]);
  t.teardown(async () => {
    balancer.close();
    for (const server of [a, b]) await server.down();
  });
  return { a, b, base: balancer.base, balancer };
}

/** Whether new connections go to these alone. */
function goTo(base: string, names: string): Promise<boolean> {
  return eventually(
    async () => [...new Set(await Promise.all(Array.from({ length: 6 }, () => ask(base))))].sort().join("") === names,
  );
}

t.test("Balancer gives connections to servers in turns, and requests of a connection to one", async (t) => {
  const { base, balancer } = await open(t);
  const answers = [];
  for (let index = 0; index < 6; index += 1) answers.push(await ask(base));
  t.same(answers.sort(), ["a", "a", "a", "b", "b", "b"]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  t.teardown(() => agent.destroy());
  const [first] = [await ask(base, agent), await ask(base, agent)];
  for (let index = 0; index < 6; index += 1) t.equal(await ask(base, agent), first);
  t.ok(await eventually(() => balancer.counts.reduce((sum, count) => sum + count) === 1), "the others are closed");
});

t.test("Balancer serves a client that comes while it is opened", async (t) => {
  const a = await new Named("a").up();
  const former = await Balancer.open([a]);
  const { base, port } = former;
  former.close();
  // Its readiness is not told until the client is there.
  a.isSlow = true;
  const opening = Balancer.open([a], port);
  const listens = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
  t.ok(await eventually(listens));
  const early = ask(base);
  a.isSlow = false;
  t.equal(await early, "a");
  (await opening).close();
  await a.down();
});

t.test("Balancer gives nothing new to a server that is not ready, and leaves it what it has", async (t) => {
  const { a, b, base } = await open(t);
  const agents = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: 1, ca }));
  t.teardown(() => agents.forEach((agent) => agent.destroy()));
  const first = [];
  for (const agent of agents) first.push(await ask(base, agent));
  t.same(first.toSorted(), ["a", "b"]);
  a.code = 500;
  t.ok(await goTo(base, "b"));
  t.same([await ask(base, agents[0]), await ask(base, agents[1])], first, "connections of both go on");
  a.code = 200;
  b.code = 500;
  t.ok(await goTo(base, "a"));
});

t.test("Balancer ends connections of a server that is gone or silent, and finds it again", async (t) => {
  const { a, b, base, balancer } = await open(t);
  const idle = [0, 1].map(() => connect(balancer.port, "127.0.0.1"));
  let ended = 0;
  for (const socket of idle) socket.on("error", () => undefined).on("close", () => (ended += 1));
  t.ok(await eventually(() => balancer.counts.join() === "1,1"));
  await a.down();
  t.ok(await eventually(() => ended === 1), "its connections are broken");
  t.equal(await ask(base), "b");
  t.equal(await ask(base), "b", "no connection fails meanwhile");
  await a.up();
  t.ok(await goTo(base, "ab"));
  b.isSlow = true;
  t.ok(await eventually(() => ended === 2));
  t.ok(await goTo(base, "a"));
  await a.down();
  const later = ask(base);
  await a.up();
  t.equal(await later, "a", "a connection waits for a server");
});
