// Many dependents of one owner that is deleted, while others go on with their requests: how long it takes until all is as
// it should be, what the others notice of it, and what memory is left behind.
import { LiveHeap } from "../support/liveheap.ts";
import { eventually, type TestServer } from "../support/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";

/** What one deletion came to. */
export interface Collected {
  readonly policy: string;
  readonly count: number;
  /** From the delete until the owner and all dependents are as they should be. */
  readonly seconds: number;
  /** Of other requests meanwhile. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly requests: number;
  /** That failed. */
  readonly failures: number;
  /** Beyond what was alive before the dependents were created. */
  readonly leftMiB: number;
}

/** Deletes an owner of `count` dependents with a policy. The server has an inspector. */
export async function collect(server: TestServer, policy: string, count: number): Promise<Collected> {
  const heap = await LiveHeap.open(server.errors());
  const before = await heap.bytes();
  const name = `owner-${policy.toLowerCase()}`;
  const made = await server.call("POST", maps, { metadata: { name } });
  const uid = String(made.json.metadata.uid);
  const owner = { apiVersion: "v1", kind: "ConfigMap", name, uid, blockOwnerDeletion: true };
  const label = policy.toLowerCase();
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < count) {
      const metadata = { name: `${label}-${next++}`, labels: { of: label }, ownerReferences: [owner] };
      const { code, text } = await server.call("POST", maps, { metadata, data: { a: "b" } });
      if (code !== 201) throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: 16 }, create));
  const bystander = new Bystander(server, label);
  await bystander.begin();
  const start = performance.now();
  const deleted = await server.call("DELETE", `${maps}/${name}`, { propagationPolicy: policy });
  if (deleted.code !== 200) throw new Error(deleted.text);
  const isDone = async (): Promise<boolean> => {
    if ((await server.call("GET", `${maps}/${name}`)).code !== 404) return false;
    const { json } = await server.call(
      "GET",
      `${maps}?labelSelector=of%3D${label}&limit=${policy === "Orphan" ? 0 : 1}`,
    );
    const items = json.items as { readonly metadata: { readonly ownerReferences?: unknown } }[];
    if (policy !== "Orphan") return items.length === 0;
    return items.length === count && items.every(({ metadata }) => metadata.ownerReferences === undefined);
  };
  if (!(await eventually(isDone, 600_000))) throw new Error(`${policy} does not come to an end`);
  const seconds = (performance.now() - start) / 1000;
  const noticed = await bystander.end();
  if (policy === "Orphan") await server.call("DELETE", `${maps}?labelSelector=of%3D${label}`);
  const left = (await heap.bytes()) - before;
  heap.close();
  return { policy, count, seconds, ...noticed, leftMiB: left / 2 ** 20 };
}

/** Another client: gets, updates and lists, forty a second. */
class Bystander {
  readonly #server: TestServer;
  readonly #path: string;
  readonly #ms: number[] = [];
  readonly #open = new Set<Promise<void>>();
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(server: TestServer, label: string) {
    this.#server = server;
    this.#path = `/api/v1/namespaces/kube-public/configmaps/bystander-${label}`;
  }

  async begin(): Promise<void> {
    const name = this.#path.slice(this.#path.lastIndexOf("/") + 1);
    await this.#server.call("POST", this.#path.slice(0, this.#path.lastIndexOf("/")), { metadata: { name } });
    const merge = { "content-type": "application/merge-patch+json" };
    let turn = 0;
    const one = async (): Promise<void> => {
      const start = performance.now();
      const kind = turn++ % 3;
      const body = kind === 0 ? { data: { turn: String(turn) } } : undefined;
      const path = kind === 2 ? "/api/v1/namespaces" : this.#path;
      const { code } = await this.#server.call(kind === 0 ? "PATCH" : "GET", path, body, kind === 0 ? merge : {});
      this.#ms.push(performance.now() - start);
      if (code !== 200) this.#failures += 1;
    };
    this.#timer = setInterval(() => {
      const open = one().finally(() => this.#open.delete(open));
      this.#open.add(open);
    }, 25);
  }

  async end(): Promise<Pick<Collected, "p50Ms" | "p99Ms" | "requests" | "failures">> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
    const sorted = this.#ms.sort((a, b) => a - b);
    const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
    return { p50Ms: at(0.5), p99Ms: at(0.99), requests: sorted.length, failures: this.#failures };
  }
}
