// What extension servers hold of a namespace that ends: each is asked what it serves, by the server's own calls, and its
// objects are deleted as upstream's namespace controller does: the collection, or one by one where there is no such verb,
// and then what is left is listed. Whatever is not known for sure keeps the namespace.
import { askPeer } from "../aggregation/askpeer.ts";
import { discoveryPath, type Extensions, resourceListCall } from "../aggregation/extensions.ts";
import { isJsonObject, type RemoteResource, readResourceList } from "../aggregation/resourcelist.ts";
import type { RemoteVersion } from "../aggregation/target.ts";
import { apiVersionOf, type Scheme } from "../api/scheme.ts";
import { systemUser } from "../api/user.ts";
import { severalAtOnce } from "../base/atonce.ts";
import type { Clock } from "../base/clock.ts";
import { limits } from "../config/limits.ts";
import { type Answer, type Call, CallFailure, isWell, type OutboundClient } from "../outbound/client.ts";
import { finalizerEstimateSeconds, type Remains } from "./namespaceconditions.ts";

/** What it works with. */
export interface RemoteContentsParts {
  readonly scheme: Scheme;
  readonly extensions: Pick<Extensions, "target">;
  readonly clock: Pick<Clock, "monotonic">;
}

/** An extension server, and those of its resources that are to be emptied. */
type Served = readonly [remote: RemoteVersion, lists: readonly RemoteResource[]];

/** How extension servers are asked. */
interface OwnCalls {
  /** Who asks: the same user, with the same rights, as deletes what this server has. */
  readonly headers: NonNullable<Call["headers"]>;
  /** Names and finalizers are enough. */
  readonly accept: string;
  readonly clock: Pick<Clock, "monotonic">;
}

/** An object as its list tells of it. */
interface Item {
  readonly name: string;
  readonly finalizers: readonly string[];
}

const background = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" });

/** Upstream's words for codes of answers (its NewGenericServerResponse). Nothing an extension server says is repeated. */
const codeTexts: ReadonlyMap<number, string> = new Map([
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [409, "the server reported a conflict"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [500, 'an error on the server ("unknown") has prevented the request from succeeding'],
  [503, "the server is currently unable to handle the request"],
  [504, "the server was unable to return a response in the time allotted, but may still be processing the request"],
]);

/** Deletes what extension servers hold of namespaces. */
export class RemoteContents {
  readonly #parts: RemoteContentsParts;
  readonly #calls: OwnCalls;

  constructor(parts: RemoteContentsParts) {
    this.#parts = parts;
    const { identity } = parts.scheme;
    const { name, groups } = systemUser(identity, "system:serviceaccount:kube-system:namespace-controller");
    this.#calls = {
      headers: { "X-Remote-User": name, "X-Remote-Group": groups, "Accept-Encoding": "identity" },
      accept: `application/json;as=PartialObjectMetadataList;g=${identity.spell("meta.k8s.io")};v=v1,application/json`,
      clock: parts.clock,
    };
  }

  /** Deletes what there is, and adds to `remains` what is left and what went wrong. Ends early with `signal`. */
  async deleteAll(namespace: string, remains: Remains, signal: AbortSignal): Promise<void> {
    const remotes = this.#inOrder();
    if (remotes.length === 0) return;
    const found = await this.#discover(remotes, remains, signal);
    await severalAtOnce(found, limits.remoteDocumentFetchesMax, async ([remote, lists]) => {
      const fault = await this.#at(remote, signal, async (peer) => {
        for (const list of lists) {
          // One that does not answer is not asked for more.
          if (signal.aborted || !(await peer.empty(namespace, list, remains))) return undefined;
        }
        return undefined;
      });
      if (fault !== undefined) remains.undiscovered.set(apiVersionOf(remote.group, remote.version), textOf(fault));
    });
  }

  /** Versions of a group in the order of discovery: a resource is deleted at the first that has it. */
  #inOrder(): readonly RemoteVersion[] {
    const { groups, remotes } = this.#parts.scheme;
    const order = new Map<string, number>();
    for (const { group, versions } of groups)
      for (const version of versions) order.set(apiVersionOf(group, version), order.size);
    const place = ({ group, version }: RemoteVersion): number => order.get(apiVersionOf(group, version)) ?? order.size;
    return remotes.toSorted((a, b) => place(a) - place(b));
  }

  /** What can be deleted, in namespaces, at each. */
  async #discover(remotes: readonly RemoteVersion[], remains: Remains, signal: AbortSignal): Promise<Served[]> {
    const lists = new Map<RemoteVersion, readonly RemoteResource[]>();
    await severalAtOnce(remotes, limits.remoteDocumentFetchesMax, async (remote) => {
      const groupVersion = apiVersionOf(remote.group, remote.version);
      const answer = remote.available
        ? await this.#at(remote, signal, (peer) => peer.call(resourceListCall(remote)))
        : undefined;
      if (answer === undefined || answer instanceof CallFailure || answer.code !== 200) {
        remains.undiscovered.set(groupVersion, textOf(answer));
        return;
      }
      const list = parsed(answer.body, (body) => readResourceList(body, remote));
      if (typeof list === "string") remains.unread.push(`${groupVersion}: ${list}`);
      else lists.set(remote, list);
    });
    const known = new Set<string>();
    return remotes.map((remote) => {
      const wanted = (lists.get(remote) ?? []).filter(({ resource, scope, verbs }) => {
        const name = `${resource}.${remote.group}`;
        if (scope !== "Namespaced" || !verbs.includes("delete") || known.has(name)) return false;
        known.add(name);
        return true;
      });
      return [remote, wanted] as const;
    });
  }

  /** Opens connections to an extension server for as long as `work` takes; undefined: it has no address. */
  #at<T>(remote: RemoteVersion, signal: AbortSignal, work: (peer: RemotePeer) => Promise<T>): Promise<T | CallFailure> {
    const target = this.#parts.extensions.target(remote);
    return askPeer(target, signal, (client) => work(new RemotePeer(client, remote, this.#calls)));
  }
}

/** One extension server, while a namespace is emptied. */
class RemotePeer {
  readonly #client: OutboundClient;
  readonly #remote: RemoteVersion;
  readonly #calls: OwnCalls;
  readonly #deadline: number;

  constructor(client: OutboundClient, remote: RemoteVersion, calls: OwnCalls) {
    this.#client = client;
    this.#remote = remote;
    this.#calls = calls;
    this.#deadline = calls.clock.monotonic() + limits.requestMsMax;
  }

  /** Makes a call, in what is left of the time for this server. */
  call(call: Call): Promise<Answer | CallFailure> {
    const leftMs = (): number => this.#deadline - this.#calls.clock.monotonic();
    return this.#client.call({ ...call, leftMs, answerBytesMax: limits.remoteContentBytesMax });
  }

  /** Deletes the objects of one resource in a namespace; false when the server did not answer. */
  async empty(namespace: string, { resource, verbs }: RemoteResource, remains: Remains): Promise<boolean> {
    const name = `${resource}.${this.#remote.group}`;
    const path = `${discoveryPath(this.#remote)}/namespaces/${namespace}/${encodeURIComponent(resource)}`;
    const refuse = (verb: string, fault: Answer | CallFailure): boolean => {
      remains.refusals.push(`${textOf(fault)} (${verb} ${name})`);
      return !(fault instanceof CallFailure);
    };
    const refused = await this.#deleteAll(path, verbs);
    if (refused !== undefined) return refuse("delete", refused);
    // What cannot be listed counts as deleted (upstream).
    if (!verbs.includes("list")) return true;
    const items = await this.#items(path);
    if (!Array.isArray(items)) return refuse("get", items);
    if (items.length === 0) return true;
    remains.counts.set(name, items.length);
    let isKept = false;
    for (const finalizer of items.flatMap(({ finalizers }) => finalizers)) {
      isKept = true;
      remains.finalizers.set(finalizer, (remains.finalizers.get(finalizer) ?? 0) + 1);
    }
    if (isKept) remains.estimateSeconds = Math.max(remains.estimateSeconds, finalizerEstimateSeconds);
    else remains.refusals.push(unexpectedText(namespace, { ...this.#remote, resource }));
    return true;
  }

  /** Undefined: it is done, as far as the server says. */
  async #deleteAll(path: string, verbs: readonly string[]): Promise<Answer | CallFailure | undefined> {
    if (verbs.includes("deletecollection")) {
      const answer = await this.#delete(path);
      if (answer instanceof CallFailure) return answer;
      if (isWell(answer)) return undefined;
      // It does not do that after all.
      if (answer.code !== 404 && answer.code !== 405) return answer;
    }
    if (!verbs.includes("list")) return undefined;
    const items = await this.#items(path);
    if (!Array.isArray(items)) return items;
    for (const { name } of items) {
      const answer = await this.#delete(`${path}/${encodeURIComponent(name)}`);
      if (answer instanceof CallFailure) return answer;
      if (!isWell(answer) && answer.code !== 404 && answer.code !== 405) return answer;
    }
    return undefined;
  }

  #delete(path: string): Promise<Answer | CallFailure> {
    const headers = { ...this.#calls.headers, "Content-Type": "application/json", Accept: "application/json" };
    const terms = { timeoutMs: limits.requestMsMax, codeOnly: true };
    return this.call({ method: "DELETE", path, headers, body: background, ...terms });
  }

  /** Names and finalizers of everything in a collection, page by page; what it answered where that is no list. */
  async #items(path: string): Promise<Item[] | Answer | CallFailure> {
    const headers = { ...this.#calls.headers, Accept: this.#calls.accept };
    const all: Item[] = [];
    for (let token = ""; ; ) {
      const query = `limit=${limits.remoteContentPage}${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`;
      const answer = await this.call({ method: "GET", path, query, headers, timeoutMs: limits.requestMsMax });
      if (answer instanceof CallFailure) return answer;
      // The resource went meanwhile.
      if (answer.code === 404 || answer.code === 405) return all;
      if (answer.code !== 200) return answer;
      const page = parsed(answer.body, readPage);
      if (typeof page === "string" || all.length + page.items.length > limits.remoteContentItemsMax) return unusable;
      all.push(...page.items);
      if (page.token === "") return all;
      token = page.token;
    }
  }
}

const unusable = new CallFailure("too-large", "its list cannot be used");

/** Upstream's text for what should be gone. */
export function unexpectedText(
  namespace: string,
  { group, version, resource }: { readonly group: string; readonly version: string; readonly resource: string },
): string {
  return `unexpected items still remain in namespace: ${namespace} for gvr: ${group}/${version}, Resource=${resource}`;
}

function readPage(body: Uint8Array): { readonly items: readonly Item[]; readonly token: string } | string {
  const list: unknown = JSON.parse(Buffer.from(body).toString());
  if (!isJsonObject(list) || !Array.isArray(list["items"])) return "it is no list";
  const items: Item[] = [];
  for (const each of list["items"]) {
    const metadata: unknown = isJsonObject(each) ? each["metadata"] : undefined;
    const name = isJsonObject(metadata) ? metadata["name"] : undefined;
    // A path may not be left by the name of an object.
    if (typeof name !== "string" || ["", ".", ".."].includes(name)) return "it has an object without a name";
    const finalizers: unknown = isJsonObject(metadata) ? metadata["finalizers"] : undefined;
    const texts = Array.isArray(finalizers) ? finalizers.filter((one): one is string => typeof one === "string") : [];
    items.push({ name, finalizers: texts });
  }
  const metadata = list["metadata"];
  const token = isJsonObject(metadata) ? metadata["continue"] : undefined;
  return { items, token: typeof token === "string" ? token : "" };
}

function parsed<T>(body: Uint8Array, read: (body: Uint8Array) => T | string): T | string {
  try {
    return read(body);
  } catch {
    return "it is no JSON";
  }
}

/** Why there is no answer, or not the one that was wanted; undefined: the APIService says it is not available. */
function textOf(answer: Answer | CallFailure | undefined): string {
  const code = answer === undefined || answer instanceof CallFailure ? 503 : answer.code;
  return codeTexts.get(code) ?? `the server responded with the status code ${code} but did not return more information`;
}
