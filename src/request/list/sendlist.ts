// How a list goes out: gathered from slices of the shared log into chunks of limits.listChunkBytes, so that its memory
// does not grow with the answer. No object is parsed unless the client asked for another form.
import { isStatus, type Status, timedOut } from "../../api/status.ts";
import type { Entry } from "../../audit/entry.ts";
import { copyBytes, copyOf } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { Hold, RecordSource } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import type { FormInput, FormWriter } from "../answer/form.ts";
import { formWriter } from "../answer/forms.ts";
import {
  gzipHeaders,
  headersOf,
  type Reply,
  sendBytes,
  sendStatus,
  sendStreamHead,
  takesGzip,
} from "../answer/response.ts";
import { type Chunks, sendChunks, sharedScratch } from "../answer/stream.ts";
import { formBytes, formSource, isStoredVersion, itemOffset, representRecord } from "../answer/toversion.ts";
import { longReads, readOn } from "../exchange/longreads.ts";
import type { ListAnswer, ReadInput } from "../read/read.ts";
import { type Accepted, printFormatOf } from "../route/negotiate.ts";
import { dearItemsAtOnce, type ListChunks } from "./chunks.ts";
import { type ConvertedItems, convertedItems } from "./conversion.ts";
import { ProtoList } from "./protolist.ts";
import { TextList } from "./textlist.ts";

const foot = "]}\n";

/** A list whose items are a little larger than its first still goes out in one piece. */
const slackBytes = 4096;

/** Writes a list: at once when it fits in one chunk, else as a stream under backpressure. */
export async function sendList(
  reply: Reply,
  input: ReadInput,
  list: ListAnswer,
  accepted: Accepted,
  form?: FormInput,
): Promise<void> {
  const hold = list.view.hold();
  try {
    const source = formSource(input.resource);
    if (reply.audit?.wantsResponse) await recordList(reply.audit, input, list, form && formWriter(form, source), hold);
    const chunks = await chunksOf(reply, input, list, accepted, form && formWriter(form, source), hold);
    if (isStatus(chunks)) return sendStatus(reply, chunks, accepted);
    const refused = chunks.prepare === undefined ? undefined : await chunks.prepare();
    if (reply.exchange.aborted) return;
    if (refused !== undefined) return sendStatus(reply, refused, accepted);
    // What is made of the first piece must be sent in the same turn.
    const begin = (): Promise<void> => begun(reply, chunks, hold, accepted);
    await (chunks.isLong ? longReads.do(begin, reply.lane) : begin());
  } finally {
    hold.release();
  }
}

/** Makes the first piece of a list and sends it, and the others after it. */
async function begun(reply: Reply, chunks: Chunks, hold: Hold, accepted: Accepted): Promise<void> {
  if (hold.expired) return sendStatus(reply, timedOut, accepted);
  const start = chunks.next();
  const gzip = !chunks.done && takesGzip(reply);
  if (!chunks.done && reply.exchange.method === "HEAD") {
    return sendStreamHead(reply, headersOf(reply, accepted.contentType, gzip ? gzipHeaders : []));
  }
  if (!chunks.done) return sendChunks(reply, chunks, start, hold, accepted.contentType, gzip);
  sendBytes(reply, 200, start.buffer === sharedScratch().buffer ? copyOf(start) : start, accepted);
  if (reply.packing !== undefined) await reply.packing;
}

/** The list as JSON for the audit event, unless it is larger than what is written of an answer. */
async function recordList(
  audit: Entry,
  input: ReadInput,
  list: ListAnswer,
  form: FormWriter | undefined,
  hold: Hold,
): Promise<void> {
  const chunks = new Gather(input, list, form, hold);
  const parts: Buffer[] = [];
  for (let size = 0; !chunks.done; ) {
    // The answer says why.
    if (chunks.prepare !== undefined && (await chunks.prepare()) !== undefined) return;
    const part = await longReads.do(() => Buffer.from(chunks.next()), input.lane);
    size += part.length;
    if (size > limits.auditObjectBytesMax) return audit.tooLarge();
    parts.push(part);
  }
  audit.responded(Buffer.concat(parts));
}

/** The list in the format asked for; 504 when that took longer than what it reads is kept. */
async function chunksOf(
  reply: Reply,
  input: ReadInput,
  list: ListAnswer,
  accepted: Accepted,
  form: FormWriter | undefined,
  hold: Hold,
): Promise<ListChunks | Status> {
  const format = printFormatOf(accepted);
  const isGone = (): boolean => hold.expired || reply.exchange.aborted;
  if (format === "yaml" || format === "pretty") {
    return new TextList(input, list, format, form, listOfNone(input, list, form), { printer: reply.printer, isGone });
  }
  if (format === undefined) return measured(reply, new Gather(input, list, form, hold), isGone);
  const chunks = new ProtoList(input, list, form, hold);
  return (await chunks.prepareAll()) ?? measured(reply, chunks, isGone);
}

/** These chunks, when their bytes are known: the length stands in front of a list in protobuf, and in the head of others. */
async function measured(
  { lane }: Reply,
  chunks: ListChunks & Required<Pick<ListChunks, "measure">>,
  isGone: () => boolean,
): Promise<ListChunks | Status> {
  const late = chunks.measure() ? await readOn(() => !chunks.measure(), isGone, lane) : undefined;
  return late ?? chunks;
}

/** A list up to its first item, as JSON. */
function listHead({ resource }: ReadInput, { metadata }: ListAnswer, form: FormWriter | undefined): string {
  const { apiVersion, listKind, message } = resource;
  if (form !== undefined) return form.listHead(metadata);
  // Lists of custom resources always say where they go on (upstream).
  const shown = message.open === true ? { ...metadata, continue: metadata.continue ?? "" } : metadata;
  return `{"kind":"${listKind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(shown)},"items":[`;
}

/** The list without its items, as JSON. */
function listOfNone(input: ReadInput, list: ListAnswer, form: FormWriter | undefined): string {
  return form?.listOfNone(list.metadata) ?? `${listHead(input, list, form)}${foot}`;
}

/** Items that are added up between two looks at the clock. */
const itemsPerLook = 256;

/** Gathers items into one scratch buffer, chunk by chunk. */
class Gather implements ListChunks {
  /** True after the chunk that ends the list. */
  done = false;
  readonly isLong: boolean;
  length: number | undefined;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  /** Undefined: items in their own form. */
  readonly #form: FormWriter | undefined;
  /** Bytes of an item that are left out behind its opening brace. */
  readonly #skip: number;
  readonly #foot: Uint8Array;
  /** Items are not copied but made. */
  readonly #dear: boolean;
  /** They are copied as they are stored. */
  readonly #isCopied: boolean;
  /** Undefined: no webhook converts them. */
  readonly #converted: ConvertedItems | undefined;
  /** Undefined: nothing is kept of these items in their form. */
  readonly #record: ((at: Location) => Uint8Array) | undefined;
  readonly prepare: Chunks["prepare"];
  readonly #scratch: Uint8Array;
  /** What stands before the first item; its size is a client's matter: a continue token holds a name of any length. */
  #head: Uint8Array | undefined;
  #index = 0;
  /** Items whose bytes are known, and all bytes that are. */
  #measured = 0;
  #bytes: number;

  constructor(input: ReadInput, list: ListAnswer, form: FormWriter | undefined, hold: Hold) {
    this.#input = input;
    this.#list = list;
    this.#form = form;
    const converted = convertedItems(input, list, () => hold.expired);
    this.#converted = converted;
    // Places in the past are not those of the log.
    this.#record = list.isPast ? undefined : form?.records?.(list.view);
    this.prepare = converted && (() => converted.prepare(this.#index));
    this.#skip = form === undefined ? itemOffset(input.resource) : 1;
    this.#foot = Buffer.from(form?.listFoot ?? foot);
    this.#head = Buffer.from(listHead(input, list, form));
    const { resource } = input;
    this.#dear = form !== undefined || !isStoredVersion(resource) || resource.redefined === true;
    this.#isCopied = !this.#dear && converted === undefined;
    const first = list.items[0];
    const guess = first === undefined ? 0 : list.items.length * (list.view.object(first).length + 256);
    const bytes = this.#head.length + guess + slackBytes + this.#foot.length;
    // Small lists (most are) go out in one piece of their own. The head of one may need more than a chunk.
    const edges = this.#head.length + this.#foot.length;
    this.#bytes = edges;
    const isLarge = bytes > limits.listChunkBytes && edges + slackBytes < limits.listChunkBytes;
    this.isLong = isLarge || (this.#dear && list.items.length > dearItemsAtOnce);
    this.#scratch = isLarge
      ? sharedScratch()
      : new Uint8Array(edges + Math.min(limits.listChunkBytes, guess + slackBytes));
  }

  /** What is made, and not copied, is as long as it turns out to be; what fits in a chunk has its length anyway. */
  measure(): boolean {
    const { items, view } = this.#list;
    if (!this.#isCopied || this.#scratch !== sharedScratch()) return false;
    const until = performance.now() + limits.sliceMsMax;
    for (; this.#measured < items.length; this.#measured += 1) {
      if (this.#measured % itemsPerLook === 0 && performance.now() > until) return true;
      this.#bytes += view.objectBytes(items[this.#measured] ?? 0) - this.#skip + (this.#measured > 0 ? 2 : 1);
    }
    this.length = this.#bytes;
    return false;
  }

  /** The next chunk. */
  next(): Uint8Array {
    const scratch = this.#scratch;
    const { items, view } = this.#list;
    if (items.length === 0) {
      this.done = true;
      return Buffer.from(listOfNone(this.#input, this.#list, this.#form));
    }
    let used = this.#head === undefined ? 0 : copyBytes(scratch, 0, this.#head);
    this.#head = undefined;
    const until = performance.now() + limits.sliceMsMax;
    const end = this.#converted?.end ?? items.length;
    while (this.#index < end) {
      // Another form or version costs a hundred times the copy.
      if (this.#dear && used > 0 && performance.now() > until) return scratch.subarray(0, used);
      const at = items[this.#index] ?? 0;
      const bytes = this.#isCopied ? undefined : this.#item(view, at);
      const needed = (bytes?.length ?? view.objectBytes(at)) - this.#skip + 2;
      if (used + needed + this.#foot.length > scratch.length) {
        if (used > 0) return scratch.subarray(0, used);
        return this.#large(bytes ?? view.object(at));
      }
      used = this.#open(scratch, used);
      used = bytes === undefined ? view.copyObject(at, this.#skip, scratch, used) : this.#put(scratch, used, bytes);
      this.#index++;
    }
    if (this.#index < items.length) return scratch.subarray(0, used);
    used = copyBytes(scratch, used, this.#foot);
    this.done = true;
    return scratch.subarray(0, used);
  }

  /** The item at the index, in its form. */
  #item(view: RecordSource, at: Location): Uint8Array {
    if (this.#converted !== undefined) {
      const object = this.#converted.take(this.#index);
      return this.#form?.item(object) ?? object;
    }
    const { resource, identity } = this.#input;
    if (this.#record !== undefined) return this.#record(at);
    return this.#form?.item(formBytes(view, at, resource, identity)) ?? representRecord(view, at, resource, identity);
  }

  /** An item larger than the scratch gets a buffer of its own. */
  #large(bytes: Uint8Array): Uint8Array {
    const own = new Uint8Array(bytes.length - this.#skip + 2);
    const used = this.#put(own, this.#open(own, 0), bytes);
    this.#index++;
    return own.subarray(0, used);
  }

  /** What stands between two items, and the brace that opens the next one. */
  #open(target: Uint8Array, at: number): number {
    let used = at;
    if (this.#index > 0) target[used++] = 0x2c;
    target[used++] = 0x7b;
    return used;
  }

  #put(target: Uint8Array, at: number, bytes: Uint8Array): number {
    return copyBytes(target, at, bytes.subarray(this.#skip));
  }
}
