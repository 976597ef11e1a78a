// GET of one object and of a collection. Both answer slices of the shared log: no object is parsed, and a list is
// gathered into chunks of limits.listChunkBytes, so its memory does not grow with the answer.

import type { ListMeta } from "../api/gen/meta_v1.ts";
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import type { Selector } from "../api/selector.ts";
import { badRequest, isStatus, notFound, refuse, type Status } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { copyBytes, copyOf } from "../base/copy.ts";
import { nextTurn } from "../base/turn.ts";
import type { Hold, Location, LogView } from "../cache/view.ts";
import { limits } from "../config/limits.ts";
import { decodeContinue, encodeContinue } from "./continue.ts";
import { type FormInput, type FormWriter, formWriter } from "./form.ts";
import { tooLarge, waitForRevision, withoutRetry } from "./freshness.ts";
import { type ListOptions, parseRevision, planList } from "./listoptions.ts";
import type { Accepted } from "./negotiate.ts";
import { timedOut } from "./persist.ts";
import { ProtoList } from "./protolist.ts";
import { isStoredVersion, represent, typeMetaBytes } from "./represent.ts";
import { type Reply, sendBytes, sendGzip, sendStatus } from "./respond.ts";
import { type Chunks, sendChunks } from "./stream.ts";
import { TextList } from "./textlist.ts";
import { walk } from "./walk.ts";

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

/** A list that is ready to be written: where its items are, and what stands before them. */
export interface ListAnswer {
  readonly view: LogView;
  readonly items: readonly Location[];
  readonly metadata: ListMeta;
}

const foot = "]}\n";

/** Room for what stands before the first item: column definitions are the longest. */
const headBytesMax = 8192;

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
      if (isStatus(reached)) return plan.paged ? withoutRetry(reached) : reached;
      // Others may have drained since: the state that is read is named, not the one that was waited for.
      version = view.drain();
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
  const { namespaced } = resource;
  const { aborted } = input;
  const from = { after, revision: version, now: exact === 0 };
  const page = await walk({ view, namespaced, namespace, selector, ...from, limit, aborted });
  if (isStatus(page)) return page;
  const unfiltered = selector.labels.length === 0 && selector.fields.length === 0;
  const metadata: ListMeta = { resourceVersion: String(version) };
  if (page.next !== undefined) {
    const left = unfiltered
      ? remaining >= 0
        ? Math.max(remaining - page.items.length, 1)
        : countAfter(input, page.next, page.at)
      : -1;
    const start = namespace === "" ? page.next : page.next.slice(namespace.length + 1);
    metadata.continue = encodeContinue(identity, of, { revision: version, start: `${start}\0`, remaining: left });
    if (left > 0) metadata.remainingItemCount = left;
  }
  return { view, items: page.items, metadata };
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
  form?: FormInput,
): Promise<void> {
  const hold = list.view.hold();
  try {
    const { stored = input.resource } = input.resource;
    const chunks = await chunksOf(reply, input, list, accepted, form && formWriter(form, stored), hold);
    if (chunks === undefined) return sendStatus(reply, timedOut, accepted);
    const start = chunks.next();
    if (!chunks.done) return await sendChunks(reply, chunks, start, hold, accepted.contentType, gzip);
    // The scratch goes with this call; zlib reads in another thread.
    if (gzip && start.length > limits.gzipBytesMin) {
      return await sendGzip(reply, 200, copyOf(start), accepted.contentType);
    }
    sendBytes(reply, 200, start, accepted);
  } finally {
    hold.release();
  }
}

/** The list in the format asked for; undefined when that took longer than what it reads is kept. */
async function chunksOf(
  reply: Reply,
  input: ReadInput,
  list: ListAnswer,
  { format, pretty }: Accepted,
  form: FormWriter | undefined,
  hold: Hold,
): Promise<Chunks | undefined> {
  if (format === "yaml" || (format === "json" && pretty)) {
    return new TextList(input, list, format, form, listHead(input, list, form));
  }
  if (format === "json") return new Gather(input, list, form);
  const chunks = new ProtoList(input, list, form);
  // The length stands in front of a list in protobuf.
  while (chunks.measure()) {
    await nextTurn();
    if (hold.expired || reply.exchange.aborted) return undefined;
  }
  return chunks;
}

/** A list up to its first item, as JSON. */
function listHead({ resource }: ReadInput, { metadata }: ListAnswer, form: FormWriter | undefined): string {
  const { apiVersion, listKind } = resource;
  return (
    form?.listHead(metadata) ??
    `{"kind":"${listKind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`
  );
}

/** Gathers items into one scratch buffer, chunk by chunk; a chunk is valid until the next one is asked for. */
class Gather implements Chunks {
  /** True after the chunk that ends the list. */
  done = false;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  /** Undefined: items in their own form. */
  readonly #form: FormWriter | undefined;
  /** Bytes of an item that are left out behind its opening brace. */
  readonly #skip: number;
  readonly #foot: string;
  /** Items are not copied but made. */
  readonly #dear: boolean;
  readonly #scratch: Uint8Array;
  #index = -1;

  constructor(input: ReadInput, list: ListAnswer, form: FormWriter | undefined) {
    this.#input = input;
    this.#list = list;
    this.#form = form;
    this.#skip = form === undefined ? typeMetaBytes(input.resource) : 1;
    this.#foot = form?.listFoot ?? foot;
    this.#dear = form !== undefined || !isStoredVersion(input.resource);
    // Small lists (most are) do not pay for a whole chunk.
    const first = list.items[0];
    const guess = first === undefined ? 0 : list.items.length * (list.view.object(first).length + 256);
    this.#scratch = new Uint8Array(Math.min(limits.listChunkBytes, guess + headBytesMax));
  }

  /** The next chunk. */
  next(): Uint8Array {
    const scratch = this.#scratch;
    const { items, view } = this.#list;
    let used = 0;
    if (this.#index < 0) {
      const head = listHead(this.#input, this.#list, this.#form);
      used = encoder.encodeInto(head, scratch).written;
      assert(used >= head.length, "The head of a list does not fit");
      this.#index = 0;
    }
    const until = performance.now() + limits.sliceMsMax;
    while (this.#index < items.length) {
      // Another form or version costs a hundred times the copy.
      if (this.#dear && used > 0 && performance.now() > until) return scratch.subarray(0, used);
      const object = view.object(items[this.#index] ?? 0);
      const bytes = this.#form?.item(object) ?? represent(this.#input.resource, this.#input.identity, object);
      const needed = bytes.length - this.#skip + 2;
      if (used + needed + this.#foot.length > scratch.length) {
        if (used > 0) return scratch.subarray(0, used);
        return this.#large(bytes);
      }
      used = this.#put(scratch, used, bytes);
      this.#index++;
    }
    used += encoder.encodeInto(this.#foot, scratch.subarray(used)).written;
    this.done = true;
    return scratch.subarray(0, used);
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
