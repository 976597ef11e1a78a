// Many watches over two servers on one etcd, behind a balancer, of which one is killed: its watches go on at the other one
// from the last version they saw, each change once and in order.
import type { ClientRequest } from "node:http";
import { request } from "node:https";
import { Etcd } from "../support/etcd/etcd.ts";
import { eventually, type TestServer } from "../support/server.ts";
import { Balancer } from "../support/servers/balancer.ts";
import { collection, namespace } from "./clients.ts";
import { SharedServers } from "./etcdservers.ts";

/** What a move led to. */
export interface MoveResult {
  readonly violations: readonly string[];
  readonly watches: number;
  /** Connections of watches that broke and were opened again. */
  readonly moved: number;
  /** Watches that were told that their version is too old. */
  readonly relists: number;
  readonly events: number;
  readonly writes: number;
  /** Time from the kill until every watch had seen a change made after it, ms. */
  readonly movedMs: number;
}

/** Opened at a time: handshakes take time on both sides. */
const openAtOnce = 100;
const waitMsMax = 240_000;

/** Opens watches, kills one server while objects are written, and checks what every watch saw. */
export async function runMove(dir: string, watches: number): Promise<MoveResult> {
  const etcd = await Etcd.open({ members: 3 });
  const servers = new SharedServers(dir, etcd);
  let balancer: Balancer | undefined;
  const streams: MovingWatch[] = [];
  try {
    const all = await servers.startAll([namespace]);
    const [first, second] = all as [TestServer, TestServer];
    balancer = await Balancer.open(all.map(({ base }) => ({ base })));
    const from = Number((await first.call("GET", collection)).json.metadata.resourceVersion);
    for (let index = 0; index < watches; index += 1) {
      streams.push(new MovingWatch(balancer.base, first, from));
      const isOpen = (): boolean => streams.filter((each) => !each.isOpen).length < openAtOnce;
      if (index % 10 === 9 && !(await eventually(isOpen, waitMsMax))) throw new Error("Watches do not open");
    }
    if (!(await eventually(() => streams.every(({ isOpen }) => isOpen), waitMsMax)))
      throw new Error("Watches do not open");
    const written: number[] = [];
    const write = async (server: TestServer): Promise<number> => {
      const { code, json } = await server.call("POST", collection, { metadata: { name: `w-${written.length}` } });
      if (code !== 201) throw new Error(`A write was answered ${code}`);
      const revision = Number(json.metadata.resourceVersion);
      written.push(revision);
      return revision;
    };
    for (let count = 0; count < 5; count += 1) await write(first);
    await servers.stop(0, "SIGKILL");
    const killedMs = performance.now();
    let last = 0;
    for (let count = 0; count < 5; count += 1) last = await write(second);
    const hasMoved = await eventually(() => streams.every(({ last: seen }) => seen >= last), waitMsMax);
    const movedMs = Math.round(performance.now() - killedMs);
    const violations = hasMoved ? [] : [`I7: ${streams.filter((each) => each.last < last).length} watches fell silent`];
    for (const [index, { seen, relists }] of streams.entries())
      if (relists === 0 && seen.join() !== written.join())
        violations.push(`I4: watch ${index} saw ${seen.join()} of ${written.join()}`);
    const sum = (of: (stream: MovingWatch) => number): number => streams.reduce((all, each) => all + of(each), 0);
    return {
      violations,
      watches,
      moved: sum(({ opened }) => opened - 1),
      relists: sum(({ relists }) => relists),
      events: sum(({ seen }) => seen.length),
      writes: written.length,
      movedMs,
    };
  } finally {
    for (const stream of streams) stream.close();
    balancer?.close();
    await servers.close();
    await etcd.close();
  }
}

/** A watch that is opened again where it was, as soon as it breaks. */
class MovingWatch {
  readonly seen: number[] = [];
  isOpen = false;
  opened = 0;
  relists = 0;
  last: number;
  readonly #base: string;
  readonly #server: TestServer;
  #sent: ClientRequest | undefined;
  #closed = false;

  constructor(base: string, server: TestServer, from: number) {
    this.#base = base;
    this.#server = server;
    this.last = from;
    this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#sent?.destroy();
  }

  #open(): void {
    const headers = { authorization: `Bearer ${this.#server.token}` };
    const url = `${this.#base}${collection}?watch=true&resourceVersion=${this.last}`;
    const sent = request(url, { headers, ca: this.#server.ca, agent: false }, (answer) => {
      if (answer.statusCode === 200) {
        this.isOpen = true;
        this.opened += 1;
      }
      let rest = "";
      answer.setEncoding("utf8");
      answer.on("error", () => undefined);
      answer.on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        if (answer.statusCode === 200) for (const line of lines) this.#take(JSON.parse(line));
      });
    });
    this.#sent = sent;
    sent.on("error", () => undefined);
    sent.on("close", () => {
      this.isOpen = false;
      if (!this.#closed) setTimeout(() => this.#closed || this.#open(), 50);
    });
    sent.end();
  }

  #take({ type, object }: { type: string; object: { code?: number; metadata: { resourceVersion: string } } }): void {
    if (type === "ERROR") {
      this.relists += 1;
      return;
    }
    this.last = Number(object.metadata.resourceVersion);
    this.seen.push(this.last);
  }
}
