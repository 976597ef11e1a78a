// Calling conversion webhooks. What they make of objects is kept for some seconds, under a key of all that was sent: a
// step that comes to need a conversion is done again when it is there, watchers of a record and clients that read it at
// one time share it, and a webhook that changed is heard of soon. What two ask for at one time is asked once.
import { randomUUID } from "node:crypto";
import type { CustomResourceDefinition, WebhookConversion } from "../api/gen/apiextensions/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { Status, timedOut } from "../api/status.ts";
import type { Clock } from "../base/clock.ts";
import { limits } from "../config/limits.ts";
import type { ConversionNeeded, ConversionTerms, RemoteConversion } from "../kinds/remote.ts";
import { type SharedAnswer, waiting } from "../observe/spans.ts";
import { CallFailure } from "../outbound/client.ts";
import { connectionOf, Peers, type ServiceLookup } from "../outbound/peers.ts";
import { type Batch, documentOf, kindText, readReview, reviewVersion, writeReview } from "./review.ts";

/** 429 for a request that would have to wait for too many calls of a webhook. */
const tooManyCalls = new Status(
  429,
  "TooManyRequests",
  "The server has too many calls of a conversion webhook waiting, please try again later.",
  { retryAfterSeconds: 1 },
);

/** What conversion needs of the thread it runs on. */
export interface ConversionParts {
  readonly identity: Identity;
  readonly serviceAt: ServiceLookup;
  readonly clock: Clock;
}

/** The conversion webhooks of one thread. */
export class Conversions {
  readonly #parts: ConversionParts;
  readonly #peers = new Peers();
  readonly #kept = new Kept(limits.conversionKeptBytesMax, limits.conversionKeptMs);

  constructor(parts: ConversionParts) {
    this.#parts = parts;
  }

  /** The webhook a definition names; undefined: it names none. */
  of({ spec }: CustomResourceDefinition): RemoteConversion | undefined {
    const { strategy, webhook } = spec.conversion ?? {};
    if (strategy !== "Webhook" || webhook === undefined) return undefined;
    return new Remote(webhook, this.#parts, this.#peers, this.#kept);
  }
}

let count = 0;

/** A call under way. */
type UnderWay = SharedAnswer<Status | undefined>;

/** One webhook, as one generation of a definition names it. */
class Remote implements RemoteConversion {
  readonly #webhook: WebhookConversion;
  readonly #parts: ConversionParts;
  readonly #peers: Peers;
  readonly #kept: Kept;
  /** Tells its keys from those of the definition's other generations. */
  readonly #own = `${count++} `;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(webhook: WebhookConversion, parts: ConversionParts, peers: Peers, kept: Kept) {
    this.#webhook = webhook;
    this.#parts = parts;
    this.#peers = peers;
    this.#kept = kept;
  }

  find(key: string): Uint8Array | undefined {
    return this.#kept.get(this.#own + key);
  }

  async ask(needs: readonly ConversionNeeded[], terms: ConversionTerms): Promise<Status | undefined> {
    const calls = new Set<UnderWay>();
    const mine: ConversionNeeded[] = [];
    const joined: ConversionNeeded[] = [];
    const keys = new Set<string>();
    for (const need of needs) {
      if (keys.has(need.key) || this.find(need.key) !== undefined) continue;
      keys.add(need.key);
      const call = this.#underWay.get(need.key);
      if (call === undefined) mine.push(need);
      else {
        joined.push(need);
        calls.add(call);
      }
    }
    const others = [...calls];
    const own = batchesOf(mine).map((batch) => this.#begin(batch, terms));
    const refused = (await Promise.all(own)).find((status) => status !== undefined);
    if (refused !== undefined || others.length === 0) return refused;
    const answer = Promise.all(others.map(({ answer }) => answer));
    const ends = await waiting(terms.spans, "wait for a conversion webhook", { answer, spans: others[0]?.spans });
    const failed = ends.find((status) => status !== undefined);
    // Others may have had less time, or a smaller share.
    return failed === timedOut || failed === tooManyCalls ? this.ask(joined, terms) : failed;
  }

  #begin(batch: readonly ConversionNeeded[], terms: ConversionTerms): Promise<Status | undefined> {
    const call = this.#call(batch, terms).finally(() => {
      for (const { key } of batch) this.#underWay.delete(key);
    });
    const asked = { answer: call, spans: terms.spans };
    for (const { key } of batch) this.#underWay.set(key, asked);
    return call;
  }

  async #call(needs: readonly ConversionNeeded[], terms: ConversionTerms): Promise<Status | undefined> {
    const { owner, deadline, spans } = terms;
    const [first] = needs;
    if (first === undefined) return undefined;
    const { identity, clock, serviceAt } = this.#parts;
    const { clientConfig = {}, conversionReviewVersions } = this.#webhook;
    const about = `conversion webhook for ${kindText(documentOf(first.sent))} failed`;
    const version = reviewVersion(conversionReviewVersions);
    if (version === undefined) return failure("no recognized conversion review versions");
    const connection = connectionOf(clientConfig, serviceAt);
    if (typeof connection === "string") return failure(`${about}: ${connection}`);
    const batch: Batch = { identity, version, uid: randomUUID(), to: first.to, sent: needs.map(({ sent }) => sent) };
    const query = `timeout=${limits.conversionMsMax / 1000}s`;
    const answer = await this.#peers.clientOf(connection).call({
      method: "POST",
      query,
      headers: { "Content-Type": "application/json", Accept: "application/json, */*" },
      body: writeReview(batch),
      timeoutMs: limits.conversionMsMax,
      ...(deadline === undefined ? {} : { leftMs: () => deadline - clock.monotonic() }),
      answerBytesMax: limits.conversionAnswerBytesMax,
      owner,
      traced: spans && { spans, name: "conversion webhook" },
    });
    if (answer instanceof CallFailure) {
      if (answer.failure === "busy") return tooManyCalls;
      if (answer.failure === "late") return timedOut;
      const why = answer.failure === "timeout" ? "context deadline exceeded" : answer.message;
      const url = `${connection.url}${connection.url.includes("?") ? "&" : "?"}${query}`;
      return failure(`${about}: Post ${JSON.stringify(url)}: ${why}`);
    }
    if (answer.code < 200 || answer.code > 206) return failure(`${about}: the server answered ${answer.code}`);
    const made = readReview(answer.body, batch, limits.objectBytesMax);
    if (typeof made === "string") return failure(made);
    this.#kept.set(needs.map(({ key }, index) => [this.#own + key, made[index] ?? new Uint8Array(0)]));
    return undefined;
  }
}

/** 500 without a reason, as upstream has it for an error that is no Status. */
function failure(message: string): Status {
  return new Status(500, "", message);
}

/** Objects that go in one call: of one version, to one version, so many of them, so many bytes. */
function batchesOf(needs: readonly ConversionNeeded[]): ConversionNeeded[][] {
  const batches: ConversionNeeded[][] = [];
  const open = new Map<Resource, Map<string, { readonly batch: ConversionNeeded[]; bytes: number }>>();
  for (const need of needs) {
    const { to, sent } = need;
    const from = versionOf(sent);
    let byVersion = open.get(to);
    if (byVersion === undefined) open.set(to, (byVersion = new Map()));
    let last = byVersion.get(from);
    const isFull =
      last !== undefined &&
      (last.batch.length >= limits.conversionObjectsMax || last.bytes + sent.length > limits.conversionBytesMax);
    if (last === undefined || isFull) {
      byVersion.set(from, (last = { batch: [], bytes: 0 }));
      batches.push(last.batch);
    }
    last.batch.push(need);
    last.bytes += sent.length;
  }
  return batches;
}

/** What stands before the metadata of an object of our making: its kind and version. */
function versionOf(sent: string): string {
  return sent.slice(0, sent.indexOf('"metadata":'));
}

/** What was converted lately: in bytes and in time. What is over ends between two turns of the loop, never within one. */
class Kept {
  readonly #bytesMax: number;
  readonly #ms: number;
  /** Oldest first. */
  readonly #objects = new Map<string, { readonly object: Uint8Array; readonly round: number }>();
  #bytes = 0;
  #round = 0;

  constructor(bytesMax: number, ms: number) {
    this.#bytesMax = bytesMax;
    this.#ms = ms;
  }

  get(key: string): Uint8Array | undefined {
    return this.#objects.get(key)?.object;
  }

  set(entries: readonly (readonly [string, Uint8Array])[]): void {
    const round = ++this.#round;
    for (const [key, object] of entries) {
      this.#forget(key);
      this.#objects.set(key, { object, round });
      this.#bytes += object.length + overheadBytes;
    }
    this.#forgetWhile(() => this.#bytes > this.#bytesMax);
    setTimeout(() => this.#forgetWhile((kept) => kept <= round), this.#ms).unref();
  }

  #forgetWhile(condition: (round: number) => boolean): void {
    for (const [key, { round }] of this.#objects) {
      if (!condition(round)) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    const kept = this.#objects.get(key);
    if (kept === undefined) return;
    this.#objects.delete(key);
    this.#bytes -= kept.object.length + overheadBytes;
  }
}

/** What an entry costs besides its bytes. */
const overheadBytes = 200;
