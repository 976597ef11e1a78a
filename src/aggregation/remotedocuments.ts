// What extension servers say of themselves, for discovery and OpenAPI: one copy of each document per front, asked for when
// a client asks for a document of ours that it is a part of. A request waits for extension servers for a short time, all
// of them together; what comes later counts for the next one. What was good stays until the APIService goes or leads
// elsewhere, also while the extension server is down.
import { createHash } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { within } from "../base/within.ts";
import { limits } from "../config/limits.ts";
import type { DocumentChange } from "../observe/openapi.ts";
import { type Call, CallFailure, type Connection } from "../outbound/client.ts";
import { askPeer } from "./askpeer.ts";
import type { Extensions } from "./extensions.ts";
import { placeOf, type RemoteVersion } from "./target.ts";

/** A kind of document. */
export interface DocumentKind<T> {
  /** For operators. */
  readonly title: string;
  readonly call: (remote: RemoteVersion, target: Connection) => Omit<Call, "timeoutMs" | "answerBytesMax">;
  readonly bytesMax: number;
  /** Reads what was answered with 200; a text says why it cannot be used, what is thrown, too. */
  readonly read: (body: Uint8Array, remote: RemoteVersion) => T | string | Promise<T | string>;
}

/** What is known of a group version. */
export interface Known<T> {
  /** The last good document; undefined: there was none, or the extension server has none (404). */
  readonly document: T | undefined;
  /** The extension server was reached the last time it was asked, and is available. */
  readonly isCurrent: boolean;
}

/**
 * Told of a document that could not be had, or not be used: once until there is one, or another fault. `fault` holds no
 * bytes of the extension server's.
 */
export type Refused = (refused: {
  readonly apiService: string;
  readonly document: string;
  readonly fault: string;
}) => void;

/** Changes that are remembered for those who have not heard of them. */
const changesMax = 1000;

/** A copy, and when it is asked for again. */
interface Copy<T> {
  /** What it is good for. */
  readonly asked: string;
  isForgotten: boolean;
  document: T | undefined;
  bytes: number;
  /** SHA-256 of what was answered. */
  digest: string;
  isCurrent: boolean;
  isAvailable: boolean;
  dueMs: number;
  failures: number;
  /** Why it was refused the last time; undefined: it was not. */
  fault: string | undefined;
  pending: Promise<void> | undefined;
}

const unknown: Known<never> = { document: undefined, isCurrent: false };

/** The documents of one kind of all extension servers. */
export class RemoteDocuments<T> {
  /** Another number whenever what find() says has changed. */
  generation = 0;
  /** Documents that came, changed or went, by APIService, with the generation since which that is so. */
  readonly #changes = new Map<string, { readonly reason: DocumentChange; readonly generation: number }>();
  readonly #kind: DocumentKind<T>;
  readonly #extensions: Pick<Extensions, "target">;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #refused: Refused;
  /** By the names of APIServices. */
  readonly #copies = new Map<string, Copy<T>>();
  #bytes = 0;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    kind: DocumentKind<T>,
    extensions: Pick<Extensions, "target">,
    clock: Pick<Clock, "monotonic">,
    refused: Refused = () => undefined,
  ) {
    this.#kind = kind;
    this.#extensions = extensions;
    this.#clock = clock;
    this.#refused = refused;
  }

  /** What is known now. */
  find(remote: RemoteVersion): Known<T> {
    const copy = this.#copies.get(remote.name);
    return copy === undefined || copy.asked !== askedOf(remote) ? unknown : copy;
  }

  /** Asks for what is due, of all extension servers there are, and waits for a short time. */
  async refresh(remotes: readonly RemoteVersion[]): Promise<void> {
    if (remotes.length === 0 && this.#copies.size === 0) return;
    this.#forget(remotes);
    const pending: Promise<void>[] = [];
    for (const remote of remotes) {
      const copy = this.#copyOf(remote);
      if (remote.available !== copy.isAvailable) {
        copy.isAvailable = remote.available;
        copy.dueMs = 0;
        if (!remote.available) this.#tell(copy, false);
      }
      if (!remote.available) continue;
      if (copy.pending === undefined && this.#clock.monotonic() >= copy.dueMs) {
        copy.pending = this.#fetch(copy, remote).finally(() => {
          copy.pending = undefined;
        });
      }
      if (copy.pending !== undefined) pending.push(copy.pending);
    }
    if (pending.length > 0) await within(Promise.all(pending), limits.remoteDocumentWaitMs);
  }

  /** Copies of what is not there any more go. */
  #forget(remotes: readonly RemoteVersion[]): void {
    if (this.#copies.size === 0) return;
    const wanted = new Map(remotes.map((remote) => [remote.name, askedOf(remote)]));
    for (const [name, copy] of this.#copies) {
      if (wanted.get(name) === copy.asked) continue;
      this.#copies.delete(name);
      copy.isForgotten = true;
      this.#bytes -= copy.bytes;
      this.generation += 1;
      if (copy.digest !== "") this.#note(name, "delete");
    }
  }

  #copyOf(remote: RemoteVersion): Copy<T> {
    const known = this.#copies.get(remote.name);
    if (known !== undefined) return known;
    const copy: Copy<T> = {
      asked: askedOf(remote),
      isForgotten: false,
      document: undefined,
      bytes: 0,
      digest: "",
      isCurrent: false,
      isAvailable: false,
      dueMs: 0,
      failures: 0,
      fault: undefined,
      pending: undefined,
    };
    this.#copies.set(remote.name, copy);
    return copy;
  }

  async #fetch(copy: Copy<T>, remote: RemoteVersion): Promise<void> {
    await this.#turn();
    try {
      const fault = await this.#ask(copy, remote);
      copy.failures = fault === undefined ? 0 : copy.failures + 1;
      const retryMs = limits.remoteDocumentRetryMs * 2 ** Math.min(copy.failures - 1, 16);
      const pauseMs =
        fault === undefined ? limits.remoteDocumentLookMs : Math.min(limits.remoteDocumentLookMs, retryMs);
      copy.dueMs = this.#clock.monotonic() + pauseMs;
      if (fault !== undefined) this.#tell(copy, false);
      if (fault !== undefined && fault !== copy.fault && !copy.isForgotten) {
        this.#refused({ apiService: remote.name, document: this.#kind.title, fault });
      }
      copy.fault = fault;
    } finally {
      const next = this.#waiting.shift();
      // The place goes to one that waits: what comes in between would make it one more.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /** Waits for one of the places. */
  async #turn(): Promise<void> {
    if (this.#running < limits.remoteDocumentFetchesMax) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Takes in the document an extension server has now; returns why it cannot. */
  async #ask(copy: Copy<T>, remote: RemoteVersion): Promise<string | undefined> {
    const { call, bytesMax, read } = this.#kind;
    const terms = { timeoutMs: limits.remoteDocumentMsMax, answerBytesMax: bytesMax };
    try {
      const answer = await askPeer(this.#extensions.target(remote), undefined, (client, target) =>
        client.call({ ...call(remote, target), ...terms }),
      );
      if (answer instanceof CallFailure) return answer.message;
      // Upstream tolerates that, too.
      if (answer.code === 404) return this.#take(copy, remote.name, undefined, 0, "");
      if (answer.code !== 200) return `it answered ${answer.code}`;
      const { length } = answer.body;
      if (this.#bytes - copy.bytes + length > limits.remoteDocumentBytesMax) return "there is no room for it";
      const digest = createHash("sha256").update(answer.body).digest("hex");
      // One that says the same stays the same object: what was made of it is good.
      if (digest === copy.digest) return this.#take(copy, remote.name, copy.document, length, digest);
      const document = await read(answer.body, remote);
      return typeof document === "string" ? document : this.#take(copy, remote.name, document, length, digest);
    } catch (error) {
      // JavaScript's message shows a piece of what is no JSON.
      if (error instanceof SyntaxError) return "it is no JSON";
      // A document that is not what it should be.
      return (error as Error).message;
    }
  }

  /** What became of documents after a generation, by APIService. */
  changesAfter(generation: number): Map<string, DocumentChange> {
    const found = new Map<string, DocumentChange>();
    for (const [name, change] of this.#changes) if (change.generation > generation) found.set(name, change.reason);
    return found;
  }

  #note(name: string, reason: DocumentChange): void {
    this.#changes.delete(name);
    if (this.#changes.size >= changesMax) this.#changes.delete(this.#changes.keys().next().value ?? "");
    this.#changes.set(name, { reason, generation: this.generation });
  }

  #take(copy: Copy<T>, name: string, document: T | undefined, bytes: number, digest: string): undefined {
    if (copy.isForgotten) return;
    this.#bytes += bytes - copy.bytes;
    if (digest !== copy.digest) {
      this.generation += 1;
      this.#note(name, copy.digest === "" ? "add" : digest === "" ? "delete" : "update");
    }
    copy.document = document;
    copy.bytes = bytes;
    copy.digest = digest;
    this.#tell(copy, copy.isAvailable);
  }

  #tell(copy: Copy<T>, isCurrent: boolean): void {
    if (copy.isCurrent === isCurrent) return;
    copy.isCurrent = isCurrent;
    this.generation += 1;
  }
}

/** What a copy is good for, as text. */
function askedOf(remote: RemoteVersion): string {
  return `${placeOf(remote)} ${JSON.stringify([remote.authorities, remote.insecure])}`;
}
