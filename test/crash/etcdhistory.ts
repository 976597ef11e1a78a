// The history of a run on etcd, as etcd itself tells it: a watch by its JSON gateway, on one member at a time, that goes on
// at the next one when a member is killed, paused or cut off. It shares nothing with the engine under test.

import type { Etcd } from "../support/etcd/etcd.ts";
import { type Following, rangeOf } from "../support/etcd/gateway.ts";
import { eventually } from "../support/server.ts";
import type { Fact, Truth } from "./check.ts";

/** An event, as the gateway sends it. */
interface Told {
  readonly type?: "DELETE";
  readonly kv: {
    readonly key: string;
    readonly value?: string;
    readonly mod_revision: string;
    readonly create_revision?: string;
    readonly version?: string;
  };
}

interface Answer {
  readonly canceled?: boolean;
  readonly compact_revision?: string;
  readonly events?: readonly Told[];
}

/** How often it is looked whether a member is still heard of, and how long it may be silent, ms. */
const lookMs = 500;
const silentMsMax = 2500;

/** Everything that happens below a prefix. */
export class EtcdHistory {
  readonly facts: Fact[] = [];
  /** Numbers that each counter had, in order. */
  readonly counts = new Map<string, number[]>();
  readonly #etcd: Etcd;
  readonly #prefix: string;
  readonly #last = new Map<string, { readonly fact: Fact; readonly version: number }>();
  readonly #timer: NodeJS.Timeout;
  #following: Following | undefined;
  #member = 0;
  #heardMs = performance.now();
  #position: number;
  #fault: Error | undefined;

  private constructor(etcd: Etcd, prefix: string, position: number) {
    this.#etcd = etcd;
    this.#prefix = prefix;
    this.#position = position;
    this.#follow();
    this.#timer = setInterval(() => {
      if (performance.now() - this.#heardMs > silentMsMax) this.#follow();
    }, lookMs);
  }

  /** Follows from now on; nothing is below the prefix yet. */
  static async open(etcd: Etcd, prefix: string): Promise<EtcdHistory> {
    return new EtcdHistory(etcd, prefix, await etcd.revision());
  }

  /** Newest revision it knows: what is older may be compacted. */
  get position(): number {
    return this.#position;
  }

  /** All of it, up to a revision below the prefix. */
  async upTo(revision: number): Promise<Truth> {
    const reached = await eventually(() => this.#fault !== undefined || this.#position >= revision, 60_000);
    if (this.#fault !== undefined) throw this.#fault;
    if (!reached) throw new Error(`etcd tells no history up to ${revision}: ${this.#position}`);
    return { revision: this.#position, floor: 0, facts: this.facts };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#following?.end();
  }

  /** Goes on at the next member. */
  #follow(): void {
    this.#following?.end();
    this.#heardMs = performance.now();
    const { members } = this.#etcd;
    const { gateway } = members[this.#member++ % members.length] as (typeof members)[number];
    const request = { ...rangeOf(this.#prefix), start_revision: String(this.#position + 1) };
    const following = gateway.follow("/v3/watch", { create_request: request }, (answer: Answer) => {
      if (following === this.#following) this.#take(answer);
    });
    following.ended.catch(() => undefined);
    this.#following = following;
  }

  #take({ canceled, compact_revision: compacted, events = [] }: Answer): void {
    this.#heardMs = performance.now();
    if (canceled === true && compacted !== undefined)
      this.#fault = new Error(`Compacted at ${compacted}, though the history is known up to ${this.#position} only`);
    for (const told of events) this.#add(told);
  }

  #add({ type, kv }: Told): void {
    const revision = Number(kv.mod_revision);
    if (revision <= this.#position) return;
    this.#position = revision;
    const key = Buffer.from(kv.key, "base64").toString();
    const last = this.#last.get(key);
    const previous = last?.fact.revision ?? 0;
    if (type === "DELETE") {
      const { token = "", createRevision = 0 } = last?.fact ?? {};
      return this.#note({ revision, op: "delete", key, token, previous, createRevision }, 0);
    }
    const { data } = JSON.parse(Buffer.from(kv.value ?? "", "base64").toString());
    const version = Number(kv.version);
    if (version !== (last?.version ?? 0) + 1)
      this.#fault = new Error(`The history has ${key} at version ${version} after ${last?.version ?? 0}`);
    const createRevision = Number(kv.create_revision);
    const op = createRevision === revision ? "create" : "update";
    this.#note({ revision, op, key, token: data.value, previous, createRevision }, version);
    if (data.count === undefined) return;
    const counts = this.counts.get(key);
    if (counts === undefined) this.counts.set(key, [Number(data.count)]);
    else counts.push(Number(data.count));
  }

  #note(fact: Fact, version: number): void {
    this.facts.push(fact);
    this.#last.set(fact.key, { fact, version });
  }
}

/** Activates or ends the alarm that etcd gives when its quota is used up, on one member: writes are refused. */
export async function alarm(etcd: Etcd, action: "ACTIVATE" | "DEACTIVATE", id: string): Promise<void> {
  await etcd.call("/v3/maintenance/alarm", { action, memberID: id, alarm: "NOSPACE" });
}
