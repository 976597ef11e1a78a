// The clients of the server's crash test: writers and watchers that live on while the server dies and comes back, and
// note everything they ask, are told and see, for check.ts.
import { request } from "node:https";
import type { Answer, TestServer } from "../support/server.ts";
import type { Line, Op } from "./check.ts";

const namespace = "crash";
/** Where the objects of the test are, in the API and in the store. */
export const collection = `/api/v1/namespaces/${namespace}/configmaps`;
export const storePrefix = `/registry/configmaps/${namespace}/`;

interface ConfigMap {
  readonly metadata: { readonly name?: string; readonly resourceVersion: string };
  readonly data?: { readonly value?: string };
}

interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: ConfigMap;
}

const opOf = { ADDED: "create", MODIFIED: "update", DELETED: "delete" } as const;

/** Everybody's clients, and the server they talk to at the moment. */
export class Clients {
  readonly lines: Line[] = [];
  /** What went wrong besides: answers nobody expects. */
  readonly surprises: string[] = [];
  readonly #pick: (n: number) => number;
  /** Mod revision of every key as far as known: 0 when it is not there, undefined when somebody must look. */
  readonly #known = new Map<string, number>();
  /** Newest revision of each watcher. */
  readonly #seen = new Map<string, number>();
  #server: TestServer | undefined;
  #waiting: (() => void)[] = [];
  #stopping = false;
  #dying = false;
  #ids = 0;

  constructor(pick: (n: number) => number) {
    this.#pick = pick;
  }

  /** The server is there, again. */
  up(server: TestServer): void {
    this.#server = server;
    this.#dying = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Its disk fails: answers of 500 and above are no surprise until the next start. */
  fail(): void {
    this.#dying = true;
  }

  /** It is about to be killed. */
  down(): void {
    this.#server = undefined;
  }

  /** Starts them; the promise ends when they were stopped. */
  async run(writers: number, watchers: number): Promise<void> {
    const all = [
      ...Array.from({ length: writers }, (_, i) => this.#write(i)),
      ...Array.from({ length: watchers }, (_, i) => this.#watch(`watcher-${i}`)),
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

  async #current(): Promise<TestServer | undefined> {
    while (this.#server === undefined && !this.#stopping)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#server;
  }

  async #write(writer: number): Promise<void> {
    for (;;) {
      const server = await this.#current();
      if (this.#stopping || server === undefined) return;
      const name = this.#pick(4) === 0 ? `shared-${this.#pick(6)}` : `own-${writer}-${this.#pick(8)}`;
      try {
        const mod = this.#known.get(name);
        if (this.#pick(60) === 0) await this.#list(server);
        else if (mod === undefined || this.#pick(10) === 0) await this.#look(server, name);
        else await this.#change(server, name, mod);
      } catch {
        // The connection broke: whether it was done is not known.
        this.#known.delete(name);
        await pause(5);
      }
    }
  }

  async #look(server: TestServer, name: string): Promise<void> {
    const id = this.#ids++;
    this.lines.push({ t: "look", id, key: storePrefix + name });
    const { code, json } = await server.call("GET", `${collection}/${name}`);
    if (code !== 200 && code !== 404) return this.#wonder("GET", code, json);
    const revision = code === 404 ? 0 : Number(json.metadata.resourceVersion);
    this.lines.push({ t: "got", id, revision, token: json.data?.value ?? "" });
    this.#known.set(name, revision);
  }

  async #change(server: TestServer, name: string, mod: number): Promise<void> {
    const op: Op = mod === 0 ? "create" : this.#pick(4) === 0 ? "delete" : "update";
    const id = this.#ids++;
    const token = `t${id}`;
    this.lines.push({ t: "ask", id, op, key: storePrefix + name, token, expected: mod });
    const { code, json } = await this.#send(server, op, name, token, mod);
    if (code === 200 || code === 201) {
      const revision = op === "delete" ? undefined : Number(json.metadata.resourceVersion);
      this.lines.push({ t: "ack", id, ...(revision === undefined ? {} : { revision }) });
      this.#known.set(name, revision ?? 0);
      return;
    }
    this.#known.delete(name);
    if (code === 404 || code === 409 || code === 429) this.lines.push({ t: "no", id });
    else this.#wonder(op, code, json);
  }

  #send(server: TestServer, op: Op, name: string, token: string, mod: number): Promise<Answer> {
    const padding = "p".repeat(this.#pick(10) === 0 ? this.#pick(20_000) : this.#pick(600));
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value: token, padding } };
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
    if (code !== 503 && code !== 504 && !(this.#dying && code >= 500))
      this.surprises.push(`${what} was answered ${code}: ${JSON.stringify(json)}`);
  }

  async #watch(name: string): Promise<void> {
    let from: number | undefined;
    for (let attempt = 0; ; attempt++) {
      const server = await this.#current();
      if (this.#stopping || server === undefined) return;
      try {
        from ??= await this.#list(server);
        if (from === undefined) continue;
        this.#seen.set(name, from);
        from = await this.#stream(server, name, `${name}.${attempt}`, from);
      } catch {
        await pause(5);
      }
    }
  }

  async #list(server: TestServer): Promise<number | undefined> {
    const id = this.#ids++;
    this.lines.push({ t: "look", id, key: "" });
    const { code, json } = await server.call("GET", collection);
    if (code !== 200) {
      this.#wonder("LIST", code, json);
      return undefined;
    }
    const items = (json.items as ConfigMap[]).map(
      ({ metadata, data }) =>
        [storePrefix + metadata.name, Number(metadata.resourceVersion), data?.value ?? ""] as const,
    );
    const revision = Number(json.metadata.resourceVersion);
    this.lines.push({ t: "list", id, revision, items });
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
      this.surprises.push(`${stream} got ${JSON.stringify(object)} after ${last}`);
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

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
