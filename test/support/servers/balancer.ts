// A small TCP balancer, as operators put one in front of several servers: each new connection goes to the next server that
// says it is ready. A server that says it is not keeps the connections it has, so that it can go down in order; one that
// says nothing loses them.
import { Agent, get } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A server behind it. */
export interface Backend {
  /** `https://host:port`. */
  readonly base: string;
  /** As whom it is asked whether it is ready; left out: as anonymous, which not every server answers. */
  readonly token?: string;
}

/** How often servers are asked, and how long an answer may take; a paused server is given up after two. */
const probeMs = 100;
const answerMsMax = 1000;
const silencesMax = 2;
/** How long a new connection waits for a server that is ready. */
const waitMsMax = 10_000;

type State = "ready" | "not ready" | "silent";

class Pool {
  readonly backend: Backend;
  readonly host: string;
  readonly port: number;
  readonly sockets = new Set<Socket>();
  readonly #agent: Agent;
  state: State = "silent";
  #silences = 0;
  #isAsked = false;

  constructor(backend: Backend) {
    this.backend = backend;
    const { hostname, port } = new URL(backend.base);
    this.host = hostname;
    this.port = Number(port);
    // Tests replace certificates; who is asked is known by its address.
    this.#agent = new Agent({ rejectUnauthorized: false, keepAlive: true, maxSockets: 1 });
  }

  async probe(): Promise<void> {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#take(await this.#ask());
    this.#isAsked = false;
  }

  /** It refused a connection: no process listens there. */
  refused(): void {
    this.#silences = silencesMax;
    this.#take("silent");
  }

  close(): void {
    this.#agent.destroy();
    for (const socket of this.sockets) socket.destroy();
  }

  #take(state: State): void {
    if (state !== "silent") this.#silences = 0;
    else if ((this.#silences += 1) < silencesMax) return;
    this.state = state;
    if (state === "silent") for (const socket of this.sockets) reset(socket);
  }

  #ask(): Promise<State> {
    return new Promise((resolve) => {
      const { base, token } = this.backend;
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const options = { agent: this.#agent, timeout: answerMsMax, headers };
      const sent = get(`${base}/readyz`, options, (answer) => {
        answer.resume();
        answer.on("error", () => resolve("silent"));
        answer.on("end", () => resolve(answer.statusCode === 200 ? "ready" : "not ready"));
      });
      sent.on("timeout", () => sent.destroy());
      sent.on("error", () => resolve("silent"));
    });
  }
}

/** A running balancer. */
export class Balancer {
  readonly #server: Server;
  readonly #pools: readonly Pool[];
  readonly #clients = new Set<Socket>();
  readonly #timer: NodeJS.Timeout;
  #next = 0;

  private constructor(server: Server, pools: readonly Pool[]) {
    this.#server = server;
    this.#pools = pools;
    this.#timer = setInterval(() => pools.forEach((pool) => void pool.probe()), probeMs).unref();
    server.on("connection", (client: Socket) => void this.#serve(client));
  }

  /** Opens one on this host, in front of servers that may come up later. `port` 0: a free one. */
  static async open(backends: readonly Backend[], port = 0): Promise<Balancer> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const pools = backends.map((backend) => new Pool(backend));
    // Clients of a former one at this port come as soon as it listens: they are served from then on.
    const balancer = new Balancer(server, pools);
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, "127.0.0.1", resolve);
      });
    } catch (error) {
      balancer.close();
      throw error;
    }
    await Promise.all(pools.map((pool) => pool.probe()));
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Where clients find it. */
  get base(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Connections to each server, in their order. */
  get counts(): number[] {
    return this.#pools.map(({ sockets }) => sockets.size);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#server.close();
    for (const client of this.#clients) client.destroy();
    for (const pool of this.#pools) pool.close();
  }

  async #serve(client: Socket): Promise<void> {
    this.#clients.add(client);
    client.on("close", () => this.#clients.delete(client));
    client.on("error", () => undefined);
    for (const limit = performance.now() + waitMsMax; performance.now() < limit && !client.destroyed; ) {
      const pool = this.#turn();
      const socket = pool && (await this.#open(pool));
      if (socket !== undefined && pool !== undefined) return join(client, socket, pool);
      if (pool === undefined) await new Promise((resolve) => setTimeout(resolve, probeMs / 4));
    }
    reset(client);
  }

  /** The next server that is ready. */
  #turn(): Pool | undefined {
    const ready = this.#pools.filter(({ state }) => state === "ready");
    return ready[this.#next++ % ready.length];
  }

  /** Undefined: it did not take the connection; another one may. */
  #open(pool: Pool): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      const options = { host: pool.host, port: pool.port, allowHalfOpen: true, noDelay: true };
      const socket = connect(options, () => resolve(socket));
      socket.on("error", () => {
        if (socket.connecting || socket.readyState !== "open") pool.refused();
        resolve(undefined);
      });
    });
  }
}

/** Passes bytes both ways until either side is over. A broken connection is broken on the other side, too. */
function join(client: Socket, socket: Socket, pool: Pool): void {
  pool.sockets.add(socket);
  let isBroken = false;
  for (const side of [client, socket]) side.on("error", () => (isBroken = true));
  socket.on("close", () => {
    pool.sockets.delete(socket);
    if (isBroken || !socket.readableEnded) reset(client);
  });
  client.on("close", () => {
    if (!client.readableEnded) reset(socket);
  });
  client.pipe(socket);
  socket.pipe(client);
  if (client.destroyed) socket.destroy();
}

/**
 * Breaks a connection. libuv refuses to reset one whose end is being sent (EINVAL), and Node then takes its handle for
 * closed, which it is not: the process never ends.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
