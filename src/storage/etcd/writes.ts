// One change of one key: a compare-and-swap, whose end is given out when the watch has told it.
//
//   the call answers          its event                       outcome
//   swapped, at revision r    comes within etcdTellMs         revision r
//   swapped, at revision r    does not                        in-doubt
//   not swapped               –                               what the key, or the guard, is at
//   it fails, or its member   has come with our bytes when    its revision
//   or the leader is lost     etcdDoubtMs have passed
//   the same                  has not                         in-doubt
//   not sent, or refused      –                               unavailable, full, too-large
//   its value is not made     –                               not-encrypted
import { assertShared } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import { checkChange } from "../check.ts";
import { type Change, changeTypes, type Outcome, type Refusal, StoreError } from "../store.ts";
import type { Values } from "../values.ts";
import { CallError, type EtcdClient } from "./client.ts";
import { type Keys, swapCall } from "./keys.ts";
import { Leases } from "./leases.ts";
import type { Expected, Header, Lease, TxnAnswer } from "./messages.ts";
import { type Pending, PendingWrites } from "./pending.ts";
import type { Reached } from "./reached.ts";

/** What writes are made with. */
export interface WriteParts {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly values: Values;
  readonly reached: Reached;
  /** Time for which keys are given one lease, s. */
  readonly leaseSharedSeconds: number;
  /** Of every answer, which must be of `least` or a later revision. Throws when the store cannot go on. */
  readonly header: (header: Header, least: number) => void;
}

/** What is put, and with which lease. */
interface Put {
  /** Undefined: the key is deleted. */
  readonly value: Uint8Array | undefined;
  readonly lease?: Lease;
}

/** Makes the changes of one store. */
export class Writes {
  /** Those under way. */
  readonly pending: PendingWrites;
  readonly #parts: WriteParts;
  readonly #leases: Leases;

  constructor(parts: WriteParts) {
    this.#parts = parts;
    this.pending = new PendingWrites(() => parts.reached.revision);
    this.#leases = new Leases(parts.client, limits.etcdWriteMs, parts.leaseSharedSeconds);
  }

  /** Makes one change. Rejects with what its value cannot be made for, other than that something is away. */
  async make(change: Change): Promise<Outcome> {
    const refused = checkChange(change, Buffer.from(change.key), { mod: change.expected, create: change.expected });
    if (refused !== undefined) return refused;
    const endMs = performance.now() + limits.etcdWriteMs;
    const generation = this.#parts.values.generation();
    let put: Put;
    try {
      put = await this.#put(change);
    } catch (error) {
      if (error instanceof CallError) return refusalOf(error);
      if (!(error instanceof StoreError)) throw error;
      return { refused: "not-encrypted", message: error.message };
    }
    const pending = this.pending.add(change, put.value, generation);
    const expected = this.#expected(change.key, change.expected);
    const guard = change.guard && this.#expected(change.guard.key, change.guard.revision);
    try {
      const call = this.#parts.client.call(
        swapCall({ ...expected, guard, ...put }, endMs - performance.now()),
        pending,
        change.spans,
      );
      const answer = await answerOf(call, pending);
      return answer instanceof CallError ? await this.#doubted(pending, answer) : await this.#outcome(answer, pending);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      assertShared(error instanceof CallError, `A write to etcd fails with ${String(error)}`);
      return refusalOf(error);
    } finally {
      this.pending.remove(pending);
    }
  }

  /** A leader was lost, or the member that writes were sent to: answers that have not come may never do. */
  doubtAll(): void {
    this.pending.doubtAll();
  }

  async #put(change: Change): Promise<Put> {
    if (change.type === changeTypes.delete) return { value: undefined };
    const { values, keys } = this.#parts;
    const seconds = values.ttlSecondsOf(change.prefix);
    const value = values.toStored(change, keys.stored(change.key));
    const lease = seconds === 0 ? {} : { lease: await this.#leases.of(seconds) };
    return { value: value instanceof Promise ? await value : value, ...lease };
  }

  #expected(key: string, modRevision: number): Expected {
    return { key: Buffer.from(this.#parts.keys.stored(key)), expected: { modRevision } };
  }

  /** What an answered write has come to, once the watch has told as much. */
  async #outcome({ header, succeeded, found }: TxnAnswer, { change, toldBefore }: Pending): Promise<Outcome> {
    const { revision } = header;
    this.#parts.header(header, succeeded ? toldBefore + 1 : toldBefore);
    const answeredMs = change.spans && performance.now();
    const isTold = await this.#parts.reached.wait(revision, limits.etcdTellMs);
    if (answeredMs !== undefined) change.spans?.stage("wait for etcd's watch", answeredMs, performance.now());
    if (!succeeded) {
      const actual = found[0]?.modRevision ?? 0;
      if (actual !== change.expected) return { actual };
      const guarded = found[1]?.modRevision ?? 0;
      // The branch that reads is taken only when the key or its guard is not as expected.
      assertShared(guarded !== change.guard?.revision, `A key at revision ${actual} is not at ${change.expected}`);
      return { guarded };
    }
    if (isTold) return { revision };
    const message = `The change was made at revision ${revision}, and has not come back from etcd yet`;
    return { refused: "in-doubt", message };
  }

  /** A write whose answer was lost: its event tells that it was made, and nothing that it was not. */
  async #doubted({ revision }: Pending, error: CallError): Promise<Outcome> {
    if (revision !== 0 && (await this.#parts.reached.wait(revision, limits.etcdTellMs))) return { revision };
    return { refused: "in-doubt", message: `Whether the change was made is not known: ${error.message}` };
  }
}

/** The answer of a call; the fault it is in doubt with, some time after that began. Rejects with any other fault. */
function answerOf(call: Promise<TxnAnswer>, pending: Pending): Promise<TxnAnswer | CallError> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const doubt = (fault: CallError): void => {
      timer ??= setTimeout(() => resolve(fault), limits.etcdDoubtMs);
    };
    pending.doubt = () =>
      doubt(new CallError("in-doubt", "the leader of etcd, or the member that was asked, was lost"));
    call.then(
      (answer) => {
        clearTimeout(timer);
        resolve(answer);
      },
      (error: unknown) => {
        if (error instanceof CallError && error.fault === "in-doubt") return doubt(error);
        clearTimeout(timer);
        reject(error as Error);
      },
    );
  });
}

function refusalOf({ fault, message }: CallError): Refusal {
  return { refused: fault === "full" || fault === "too-large" ? fault : "unavailable", message: `etcd: ${message}` };
}
