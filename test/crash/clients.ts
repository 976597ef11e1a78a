// The clients of the server's crash tests: writers and watchers that live on while servers die and come back, and note
// everything they ask, are told and see, for check.ts. Where there are several servers of one store, each client has one
// it talks to, and goes to another when that one is gone, or for no reason.
import { request } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import type { Answer, TestServer } from "../support/server.ts";
import type { Line, Op } from "./check.ts";

/** The namespace of the test's objects. */
export const namespace = "crash";
/** Where the objects of the test are, in the API and in the store. */
export const collection = `/api/v1/namespaces/${namespace}/configmaps`;
export const storePrefix = `/registry/configmaps/${namespace}/`;

interface ConfigMap {
  readonly metadata: { readonly name?: string; readonly resourceVersion: string };
  readonly data?: { readonly value?: string; readonly count?: string };
}

interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: ConfigMap;
}

/** What clients do and expect besides. */
export interface ClientOptions {
  /** Objects in which writers count by compare-and-swap. Default: none. */
  readonly counters?: number;
  /** Lists may come in pages, each from another server. */
  readonly isPaged?: boolean;
  /** Whether history may be compacted by now: watches and lists that are too old begin anew. */
  readonly mayRelist?: () => boolean;
  /** Pause of a writer after each step, ms. Default: none. */
  readonly paceMs?: number;
  /** Called at each change that a server, by its index, acknowledges. */
  readonly acknowledged?: (index: number) => void;
}

/** A server, and what its clients know of it. */
interface Place {
  readonly index: number;
  readonly server: TestServer;
  /** SIGTERM was sent to it. */
  isEnding: boolean;
}

/** Steps for which a writer stays away from its server after a broken connection. */
const stepsAway = 20;

/** Refused for good: the change was not made. 410: a page of a list that is too old. */
const refusals = new Set([404, 409, 410, 429, 503]);

/** What is written. */
interface Sent {
  readonly name: string;
  readonly token: string;
  /** Revision of what it replaces; 0: nothing. */
  readonly mod: number;
  readonly count: number | undefined;
}

const opOf = { ADDED: "create", MODIFIED: "update", DELETED: "delete" } as const;

/** All clients of a run, and the servers they talk to at the moment. */
export class Clients {
  readonly lines: Line[] = [];
  /** What went wrong besides: answers that are not expected. */
  readonly surprises: string[] = [];
  /** Requests that were lost on a connection of a server that was asked to end, which a client may not send again. */
  readonly lost: string[] = [];
  /** Watches and lists that began anew because their revision was compacted. */
  relists = 0;
  readonly #pick: (n: number) => number;
  readonly #options: ClientOptions;
  /** Mod revision of every key as far as known: 0 when it is not there, undefined when it must be read. */
  readonly #known = new Map<string, number>();
  /** Newest revision of each watcher. */
  readonly #seen = new Map<string, number>();
  readonly #places: (Place | undefined)[] = [];
  #waiting: (() => void)[] = [];
  #stopping = false;
  #dying = false;
  #ids = 0;

  constructor(pick: (n: number) => number, options: ClientOptions = {}) {
    this.#pick = pick;
    this.#options = options;
  }

  /** The server is there, again. */
  up(server: TestServer, index = 0): void {
    this.#places[index] = { index, server, isEnding: false };
    this.#dying = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Its disk fails: answers of 500 and above are no surprise until the next start. */
  fail(): void {
    this.#dying = true;
  }

  /** It is about to be asked to end; clients are not told. */
  ending(index = 0): void {
    const place = this.#places[index];
    if (place !== undefined) place.isEnding = true;
  }

  /** It is about to be killed, or has ended. */
  down(index = 0): void {
    this.#places[index] = undefined;
  }

  /** Starts them; the promise ends when they were stopped. */
  async run(writers: number, watchers: number): Promise<void> {
    const all = [
      ...Array.from({ length: writers }, (_, i) => this.#write(i)),
      ...Array.from({ length: watchers }, (_, i) => this.#watch(`watcher-${i}`, i)),
    ];
    await Promise.all(all);
  }

  stop(): void {
    this.#stopping = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Watchers that have not seen `revision` yet. */
  behind(revision: number): string[] {
    return [...this.#seen].filter(([, seen]) => seen < revision).map(([name]) => name);
  }

  /** The server at home, or else one that is there. */
  async #current(home: number): Promise<Place | undefined> {
    for (;;) {
      const own = this.#places[home % Math.max(1, this.#places.length)];
      const place = own ?? this.#places.find((other) => other !== undefined);
      if (place !== undefined || this.#stopping) return place;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async #write(writer: number): Promise<void> {
    // Each has a server of its own: one that is paused stops its own writers alone.
    for (let away = 0; ; away -= 1) {
      const place = await this.#current(away > 0 ? writer + 1 : writer);
      if (this.#stopping || place === undefined) return;
      const name = this.#pick(4) === 0 ? `shared-${this.#pick(6)}` : `own-${writer}-${this.#pick(8)}`;
      if (this.#options.paceMs !== undefined) await pause(this.#options.paceMs);
      try {
        await this.#step(place, name);
      } catch (error) {
        // The connection broke: whether it was done is not known.
        this.#known.delete(name);
        this.#broken(place, error as Error);
        away = stepsAway;
        await pause(5);
      }
    }
  }

  async #step(place: Place, name: string): Promise<void> {
    const { counters = 0 } = this.#options;
    const mod = this.#known.get(name);
    if (this.#pick(60) === 0) await this.#list(place.server);
    else if (counters > 0 && this.#pick(6) === 0) await this.#count(place, `counter-${this.#pick(counters)}`);
    else if (mod === undefined || this.#pick(10) === 0) await this.#look(place.server, name);
    else await this.#change(place, name, mod);
  }

  /** Adds one to a counter: what it was is read before, and must not have changed. */
  async #count(place: Place, name: string): Promise<void> {
    const found = await this.#look(place.server, name);
    if (found === undefined) return;
    const count = found === "none" ? 0 : Number(found.data?.count ?? Number.NaN) + 1;
    await this.#change(place, name, found === "none" ? 0 : Number(found.metadata.resourceVersion), count);
  }

  /** Requests that a server which ends does not answer. A connection that was refused, or that was idle, is tried again. */
  #broken({ isEnding, index }: Place, error: Error): void {
    const { code, isReused } = error as { code?: string; isReused?: boolean };
    if (!isEnding || code === "ECONNREFUSED" || isReused === true) return;
    this.lost.push(`server ${index}: ${code ?? error.message}`);
  }

  /** Reads one object; "none": it is not there, undefined: that is not known. */
  async #look(server: TestServer, name: string): Promise<ConfigMap | "none" | undefined> {
    const id = this.#ids++;
    this.lines.push({ t: "look", id, key: storePrefix + name });
    const { code, json } = await server.call("GET", `${collection}/${name}`);
    if (code !== 200 && code !== 404) {
      this.#wonder("GET", code, json);
      return undefined;
    }
    const revision = code === 404 ? 0 : Number(json.metadata.resourceVersion);
    this.lines.push({ t: "got", id, revision, token: json.data?.value ?? "" });
    this.#known.set(name, revision);
    return code === 404 ? "none" : json;
  }

  /** `count`: of a counter, which is never deleted. */
  async #change({ server, index }: Place, name: string, mod: number, count?: number): Promise<void> {
    const op: Op = mod === 0 ? "create" : count === undefined && this.#pick(4) === 0 ? "delete" : "update";
    const id = this.#ids++;
    const token = `t${id}`;
    this.lines.push({ t: "ask", id, op, key: storePrefix + name, token, expected: mod });
    const { code, json } = await this.#send(server, op, { name, token, mod, count });
    if (code === 200 || code === 201) {
      const revision = op === "delete" ? undefined : Number(json.metadata.resourceVersion);
      this.lines.push({ t: "ack", id, ...(revision === undefined ? {} : { revision }) });
      this.#known.set(name, revision ?? 0);
      this.#options.acknowledged?.(index);
      return;
    }
    this.#known.delete(name);
    if (refusals.has(code)) this.lines.push({ t: "no", id });
    else this.#wonder(op, code, json);
  }

  #send(server: TestServer, op: Op, { name, token, mod, count }: Sent): Promise<Answer> {
    const padding = "p".repeat(this.#pick(10) === 0 ? this.#pick(20_000) : this.#pick(600));
    const counted = count === undefined ? {} : { count: String(count) };
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: { value: token, padding, ...counted },
    };
    const resourceVersion = String(mod);
    switch (op) {
      case "create":
        return server.call("POST", collection, object);
      case "update":
        return server.call("PUT", `${collection}/${name}`, { ...object, metadata: { name, resourceVersion } });
      case "delete":
        return server.call("DELETE", `${collection}/${name}`, { preconditions: { resourceVersion } });
    }
  }

  /** A dying server may say that it is unavailable; everything else is a finding. */
  #wonder(what: string, code: number, json: unknown): void {
    if (code === 410 && this.#options.mayRelist?.() === true) this.relists += 1;
    else if (code !== 503 && code !== 504 && !(this.#dying && code >= 500))
      this.surprises.push(`${what} was answered ${code}: ${JSON.stringify(json)}`);
  }

  async #watch(name: string, home: number): Promise<void> {
    let from: number | undefined;
    for (let attempt = 0; ; attempt++) {
      const place = await this.#current(home + attempt);
      if (this.#stopping || place === undefined) return;
      try {
        from ??= await this.#list(place.server);
        if (from === undefined) {
          await pause(5);
          continue;
        }
        this.#seen.set(name, from);
        from = await this.#stream(place.server, name, `${name}.${attempt}`, from);
      } catch {
        await pause(5);
      }
    }
  }

  async #list(server: TestServer): Promise<number | undefined> {
    const id = this.#ids++;
    this.lines.push({ t: "look", id, key: "" });
    const limit = this.#options.isPaged === true && this.#pick(2) === 0 ? 1 + this.#pick(40) : 0;
    const items: ConfigMap[] = [];
    let revision: number | undefined;
    for (let rest = "", from = server; ; ) {
      const { code, json } = await from.call("GET", limit === 0 ? collection : `${collection}?limit=${limit}${rest}`);
      if (code !== 200) {
        this.#wonder("LIST", code, json);
        return undefined;
      }
      items.push(...(json.items as ConfigMap[]));
      const { resourceVersion, continue: token } = json.metadata;
      revision ??= Number(resourceVersion);
      if (revision !== Number(resourceVersion))
        this.surprises.push(`I5: a page of ${resourceVersion} follows one of ${revision}`);
      if (token === undefined || token === "") break;
      rest = `&continue=${encodeURIComponent(token)}`;
      from = (await this.#current(this.#pick(2)))?.server ?? from;
    }
    const found = items.map(
      ({ metadata, data }) =>
        [storePrefix + metadata.name, Number(metadata.resourceVersion), data?.value ?? ""] as const,
    );
    this.lines.push({ t: "list", id, revision, items: found });
    return revision;
  }

  /** Follows one watch until it ends; at a random moment it is ended from here. Returns where to resume. */
  #stream(server: TestServer, name: string, stream: string, from: number): Promise<number | undefined> {
    const path = `${collection}?watch=true&allowWatchBookmarks=true&resourceVersion=${from}`;
    let last: number | undefined = from;
    let rest = "";
    return new Promise((resolve) => {
      const headers = { authorization: `Bearer ${server.token}` };
      const sent = request(server.base + path, { headers, ca: server.ca, agent: false }, (answer) => {
        if (answer.statusCode !== 200) {
          this.#wonder("WATCH", answer.statusCode ?? 0, stream);
          answer.resume();
        } else this.lines.push({ t: "open", stream, from });
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop() as string;
          if (answer.statusCode === 200)
            for (const line of lines) last = this.#see(name, stream, JSON.parse(line) as WatchLine, last);
        });
        answer.on("error", () => undefined);
      });
      const timer = setTimeout(() => sent.destroy(), 100 + this.#pick(3000));
      sent.on("error", () => undefined);
      sent.on("close", () => {
        clearTimeout(timer);
        resolve(last);
      });
      sent.end();
    });
  }

  #see(name: string, stream: string, { type, object }: WatchLine, last: number | undefined): number | undefined {
    if (type === "ERROR") {
      // Too old: list again. Within five minutes this must not happen; the caller counts it.
      const { code = 500 } = object as { code?: number };
      if (code === 410 && this.#options.mayRelist?.() === true) this.relists += 1;
      else this.surprises.push(`${stream} got ${JSON.stringify(object)} after ${last}`);
      return undefined;
    }
    const revision = Number(object.metadata.resourceVersion);
    if (type === "BOOKMARK") this.lines.push({ t: "bookmark", stream, revision });
    else {
      const key = storePrefix + object.metadata.name;
      this.lines.push({ t: "event", stream, op: opOf[type], revision, key, token: object.data?.value ?? "" });
    }
    this.#seen.set(name, revision);
    return revision;
  }
}
