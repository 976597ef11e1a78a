// GET of one object and of a collection. Both answer slices of the shared log: no object is parsed, and a list is
// gathered into chunks of limits.listChunkBytes, so its memory does not grow with the answer.

import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import type { Selector } from "../api/selector.ts";
import { badRequest, isStatus, notFound, refuse, type Status } from "../api/status.ts";
import { copyBytes } from "../base/copy.ts";
import { compileSelector } from "../cache/select.ts";
import type { Location, LogView } from "../cache/view.ts";
import { limits } from "../config/limits.ts";
import { decodeContinue, encodeContinue } from "./continue.ts";
import { tooLarge, waitForRevision } from "./freshness.ts";
import { type ListOptions, parseRevision, planList } from "./listoptions.ts";
import type { Accepted } from "./negotiate.ts";
import { represent, typeMetaBytes } from "./represent.ts";
import { gzipStream, headersOf, type Reply, sendGzip, sendJson } from "./respond.ts";
import { pinnedName } from "./selectors.ts";
import type { AnswerStream } from "./transport.ts";

/** What a read needs to know. */
export interface ReadInput {
  readonly resource: Resource;
  readonly identity: Identity;
  readonly view: LogView;
  readonly namespace: string;
  readonly aborted: () => boolean;
}

/** One object's bytes at the requested version; 404, or 504 for a resource version that does not come. */
export async function readObject(
  input: ReadInput,
  name: string,
  resourceVersion: string,
): Promise<Uint8Array | Status> {
  const { resource, view } = input;
  if (resourceVersion === "" || resourceVersion === "0") view.drain();
  else {
    const revision = parseRevision(resourceVersion);
    if (typeof revision === "string") return badRequest(revision);
    const reached = await waitForRevision(view, revision, input.aborted);
    if (isStatus(reached)) return reached;
  }
  const at = view.get(input.namespace, name);
  if (at === 0) return notFound(resource, name);
  return represent(resource, input.identity, view.object(at));
}

/** A list that is ready to be written: where its items are, and the text around them. */
export interface ListAnswer {
  readonly view: LogView;
  readonly items: readonly Location[];
  readonly head: string;
}

const foot = "]}\n";
const encoder = new TextEncoder();

/** Finds the items of a list; a Status for what the document's table refuses and for versions that are gone or not there yet. */
export async function readList(
  input: ReadInput,
  options: ListOptions,
  selector: Selector,
): Promise<ListAnswer | Status> {
  const plan = planList(options);
  if (isStatus(plan)) return plan;
  const { view, identity, resource, namespace } = input;
  const of = `${resource.prefix}/${namespace}`;
  let after = "";
  let exact = 0;
  let remaining = -1;
  let version: number;
  switch (plan.mode) {
    case "any":
    case "most-recent":
      version = view.drain();
      break;
    case "not-older": {
      const reached = await waitForRevision(view, plan.revision, input.aborted);
      if (isStatus(reached)) return reached;
      version = reached;
      break;
    }
    case "exact": {
      const reached = await waitForRevision(view, plan.revision, input.aborted);
      if (isStatus(reached)) return badRequest(tooLarge(plan.revision, view.drain()).message);
      if (plan.revision < view.floor) return refuse("Expired", "The resourceVersion for the provided list is too old.");
      version = exact = plan.revision;
      break;
    }
    case "continue": {
      const token = decodeContinue(identity, of, options.continueToken);
      if (isStatus(token)) return token;
      version = view.drain();
      after = token.start.endsWith("\0") ? token.start.slice(0, -1) : token.start;
      if (namespace !== "") after = `${namespace}/${after}`;
      remaining = token.remaining;
      if (token.revision > version) return badRequest(tooLarge(token.revision, version).message);
      if (token.revision > 0 && token.revision < view.floor) return expired(identity, of, token.start);
      if (token.revision > 0) version = exact = token.revision;
    }
  }
  const limit = plan.paged && options.limit > 0 ? options.limit : Number.POSITIVE_INFINITY;
  const page = collect(input, selector, after, exact === version && exact !== 0 ? exact : 0, limit);
  const unfiltered = selector.labels.length === 0 && selector.fields.length === 0;
  let more = "";
  if (page.next !== undefined) {
    const left = unfiltered
      ? remaining >= 0
        ? Math.max(remaining - page.items.length, 1)
        : countAfter(input, page.next, exact)
      : -1;
    const start = namespace === "" ? page.next : page.next.slice(namespace.length + 1);
    const token = encodeContinue(identity, of, { revision: version, start: `${start}\0`, remaining: left });
    more = `,"continue":${JSON.stringify(token)}${left > 0 ? `,"remainingItemCount":${left}` : ""}`;
  }
  const head = `{"kind":"${resource.listKind}","apiVersion":"${resource.apiVersion}","metadata":{"resourceVersion":"${version}"${more}},"items":[`;
  return { view, items: page.items, head };
}

/** 410 with a token that goes on at the newest state, as the reference words it. */
function expired(identity: Identity, of: string, start: string): Status {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
    "deleted between the time the first chunk was returned and now may show up in the list.";
  return refuse("Expired", message, {
    continueToken: encodeContinue(identity, of, { revision: -1, start, remaining: -1 }),
  });
}

interface Page {
  readonly items: Location[];
  /** Key of the last item when more follow. */
  readonly next: string | undefined;
}

function collect(input: ReadInput, selector: Selector, after: string, revision: number, limit: number): Page {
  const { view, namespace } = input;
  const items: Location[] = [];
  const match = compileSelector(selector);
  const name = pinnedName(selector);
  if (name !== undefined && (namespace !== "" || !input.resource.namespaced)) {
    const at = name === "" ? 0 : revision === 0 ? view.get(namespace, name) : view.getAt(namespace, name, revision);
    const past = after === "" || (at !== 0 && view.keyOf(at) > after);
    if (at !== 0 && past && (match === undefined || match(view, at))) items.push(at);
    return { items, next: undefined };
  }
  let last = "";
  let next: string | undefined;
  view.scan(namespace, after, revision, (at, key) => {
    if (match !== undefined && !match(view, at)) return true;
    if (items.length >= limit) {
      next = last;
      return false;
    }
    items.push(at);
    last = key;
    return true;
  });
  return { items, next };
}

/** Items after the page that ends with `last`. */
function countAfter(input: ReadInput, last: string, revision: number): number {
  let count = 0;
  input.view.scan(input.namespace, last, revision, () => {
    count++;
    return true;
  });
  return count;
}

/** Writes a list: at once when it fits in one chunk, else as a stream under backpressure. */
export async function sendList(
  reply: Reply,
  input: ReadInput,
  list: ListAnswer,
  accepted: Accepted,
  gzip: boolean,
): Promise<void> {
  const hold = list.view.hold();
  try {
    const gather = new Gather(input, list);
    const start = gather.next();
    if (gather.done || accepted.format === "yaml" || accepted.pretty) {
      const whole = gather.done ? start : gather.rest(start);
      if (gzip && whole.length > limits.gzipBytesMin) {
        // The scratch goes with this call; zlib reads in another thread.
        return sendGzip(reply, 200, Uint8Array.from(whole));
      }
      return sendJson(reply, 200, whole, accepted);
    }
    reply.answered(200, -1);
    const coding = gzip ? [["Content-Encoding", "gzip"] as const, ["Vary", "Accept-Encoding"] as const] : [];
    const raw = reply.exchange.stream(200, headersOf(reply, "application/json", coding));
    const stream = gzip ? gzipStream(raw) : raw;
    let aborted = false;
    const writable = drains(stream);
    reply.exchange.onAbort(() => {
      aborted = true;
      writable.wake();
    });
    for (let chunk = start; !aborted; chunk = gather.next()) {
      const ready = stream.write(chunk);
      if (gather.done) break;
      // A turn of the loop per chunk: other requests are served while a long list is written.
      await (ready ? new Promise<void>((resolve) => setImmediate(resolve)) : writable.wait());
      // The slices are gone: a reader this slow gets an incomplete answer it can see.
      if (hold.expired) return stream.abort();
    }
    if (!aborted) stream.end();
  } finally {
    hold.release();
  }
}

/** Waits for "writable again". */
function drains(stream: AnswerStream): { wait(): Promise<void>; wake(): void } {
  let wake: () => void = () => undefined;
  stream.onDrain(() => wake());
  return {
    wait: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    wake: () => wake(),
  };
}

/** Gathers items into one scratch buffer, chunk by chunk; a chunk is valid until the next one is asked for. */
class Gather {
  /** True after the chunk that ends the list. */
  done = false;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  readonly #skip: number;
  readonly #scratch: Uint8Array;
  #index = -1;

  constructor(input: ReadInput, list: ListAnswer) {
    this.#input = input;
    this.#list = list;
    this.#skip = typeMetaBytes(input.resource);
    // Small lists (most are) do not pay for a whole chunk.
    const first = list.items[0];
    const guess = first === undefined ? 0 : list.items.length * (list.view.object(first).length + 256);
    this.#scratch = new Uint8Array(Math.min(limits.listChunkBytes, guess + 4096));
  }

  /** The next chunk. */
  next(): Uint8Array {
    const scratch = this.#scratch;
    const { items, head, view } = this.#list;
    let used = 0;
    if (this.#index < 0) {
      used = encoder.encodeInto(head, scratch).written;
      this.#index = 0;
    }
    while (this.#index < items.length) {
      const bytes = represent(this.#input.resource, this.#input.identity, view.object(items[this.#index] ?? 0));
      const needed = bytes.length - this.#skip + 2;
      if (used + needed + foot.length > scratch.length) {
        if (used > 0) return scratch.subarray(0, used);
        return this.#large(bytes);
      }
      used = this.#put(scratch, used, bytes);
      this.#index++;
    }
    used += encoder.encodeInto(foot, scratch.subarray(used)).written;
    this.done = true;
    return scratch.subarray(0, used);
  }

  /** All that is left, in one piece behind `start`: only for formats that need the whole document. */
  rest(start: Uint8Array): Uint8Array {
    const chunks = [Buffer.from(start)];
    while (!this.done) chunks.push(Buffer.from(this.next()));
    return Buffer.concat(chunks);
  }

  /** An item larger than the scratch gets a buffer of its own. */
  #large(bytes: Uint8Array): Uint8Array {
    const own = new Uint8Array(bytes.length - this.#skip + 2);
    const used = this.#put(own, 0, bytes);
    this.#index++;
    return own.subarray(0, used);
  }

  #put(target: Uint8Array, at: number, bytes: Uint8Array): number {
    let used = at;
    if (this.#index > 0) target[used++] = 0x2c;
    target[used++] = 0x7b;
    return copyBytes(target, used, bytes.subarray(this.#skip));
  }
}
