// Removes pods nothing looks after any more: those of nodes that are gone, those that are being deleted and never had a
// node, and of those that finished the oldest beyond a number (upstream: its controller podgc). Where no node is known,
// pods are not judged by their nodes: nothing may have registered them.
import type { Pod } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { assert } from "../base/assert.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import { findField, selectionText, valueText } from "../cache/shared/selection.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor, failureOf } from "./actor.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

const nodeField = selectionText("spec.nodeName");
const deletedText = Buffer.from('"deletionTimestamp":"');
/** Works on all pods that finished. */
const finishedKey = "finished";
/** Works on all pods, once the first node is known. */
const allKey = "all";
/** Before the names of nodes; pods are `namespace/name`. */
const nodeMark = "node ";

/** Works on nodes that are gone, on pods, and on all that finished as one. Follows the logs of nodes and pods. */
export class PodGarbage implements Controller {
  readonly follows: Follows;
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #pods: Resource;
  readonly #view: LogView;
  readonly #nodes: LogView;
  readonly #isFinished: readonly Match[];
  /** Since when nodes are missed that pods name, on the monotonic clock. */
  readonly #missedMs = new Map<string, number>();
  /** Pods were not judged by their node, because none is known. */
  #isUnjudged = false;

  constructor(writers: WriteServices) {
    const pods = storedKind(writers, "", "v1", "pods");
    this.#writers = writers;
    const account = "system:serviceaccount:kube-system:pod-garbage-collector";
    this.#actor = new Actor(writers, "kube-controller-manager", account);
    this.#pods = pods.resource;
    this.#view = pods.view;
    this.#nodes = storedKind(writers, "", "v1", "nodes").view;
    this.#isFinished = ["Succeeded", "Failed"].map((phase) => fieldMatch("status.phase", phase));
    this.follows = [
      [this.#view, (queue, at, type) => type !== recordTypes.delete && this.#note(queue, at)],
      [this.#nodes, (queue, at, type) => this.#noteNode(queue, this.#nodes.keyOf(at), type)],
    ];
  }

  all(queue: Queue): Promise<void> {
    this.#nodes.drain();
    this.#view.drain();
    return queue.scan(this.#view, (at) => this.#note(queue, at));
  }

  async work(key: string, queue: Queue): Promise<Result> {
    if (key === allKey) {
      await this.all(queue);
      return undefined;
    }
    if (key === finishedKey) return this.#trim(queue);
    return key.startsWith(nodeMark)
      ? this.#empty(key.slice(nodeMark.length), queue)
      : this.#removeUnscheduled(key, queue);
  }

  #note(queue: Queue, at: Location): void {
    // What comes after it is handed on, too.
    if (!this.#view.isCurrent(at)) return;
    const source = this.#view.selectionSource(at);
    const table = this.#view.selectionAt(at);
    const entry = findField(source, table, nodeField);
    const node = entry === -1 ? "" : valueText(source, table, entry);
    if (this.#isFinished.some((match) => match(this.#view, at)) && !queue.has(finishedKey))
      queue.addAfter(finishedKey, limits.podGarbageLookMs);
    if (node !== "") {
      if (this.#nodes.get("", node) === 0) this.#miss(queue, node);
      return;
    }
    const bytes = this.#view.object(at);
    if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(deletedText))
      queue.add(this.#view.keyOf(at));
  }

  #noteNode(queue: Queue, name: string, type: number): void {
    if (type === recordTypes.delete) this.#miss(queue, name);
    else this.#missedMs.delete(name);
    if (this.#isUnjudged && this.#nodes.count > 0) {
      this.#isUnjudged = false;
      queue.add(allKey);
    }
  }

  #miss(queue: Queue, node: string): void {
    if (this.#missedMs.has(node)) return;
    this.#missedMs.set(node, this.#writers.clock.monotonic());
    queue.addAfter(nodeMark + node, limits.nodeMissedMs);
  }

  /** Removes the pods of a node that was missed for long enough. */
  async #empty(node: string, queue: Queue): Promise<Result> {
    const sinceMs = this.#missedMs.get(node);
    if (sinceMs === undefined) return undefined;
    const leftMs = sinceMs + limits.nodeMissedMs - this.#writers.clock.monotonic();
    if (leftMs > 0) return { againMs: leftMs };
    this.#nodes.drain();
    this.#missedMs.delete(node);
    if (this.#nodes.count === 0) this.#isUnjudged = true;
    if (this.#nodes.count === 0 || this.#nodes.get("", node) !== 0) return undefined;
    const keys: string[] = [];
    const match = fieldMatch("spec.nodeName", node);
    this.#view.drain();
    await queue.scan(this.#view, (at, key) => {
      if (match(this.#view, at)) keys.push(key);
    });
    const result = await this.#remove(keys, ({ spec }) => spec.nodeName === node, queue);
    if (result !== undefined) this.#missedMs.set(node, sinceMs);
    return result;
  }

  #removeUnscheduled(key: string, queue: Queue): Promise<Result> {
    const isGarbage = ({ metadata, spec }: ApiObject & Pod): boolean =>
      metadata.deletionTimestamp !== undefined && (spec.nodeName ?? "") === "";
    return this.#remove([key], isGarbage, queue);
  }

  /** Removes the oldest of the pods that finished, beyond what is kept. */
  async #trim(queue: Queue): Promise<Result> {
    const finished: { readonly key: string; readonly created: number }[] = [];
    this.#view.drain();
    await queue.scan(this.#view, (at, key) => {
      if (!this.#isFinished.some((match) => match(this.#view, at))) return;
      finished.push({ key, created: this.#view.createRevisionOf(at) });
    });
    const excess = finished.length - limits.finishedPodsMax;
    if (excess <= 0) return undefined;
    finished.sort((a, b) => a.created - b.created);
    const keys = finished.slice(0, excess).map(({ key }) => key);
    const isGarbage = ({ status }: ApiObject & Pod): boolean =>
      status.phase === "Succeeded" || status.phase === "Failed";
    return this.#remove(keys, isGarbage, queue);
  }

  /** Removes pods that are garbage when their turn comes. */
  async #remove(keys: readonly string[], isGarbage: (pod: ApiObject & Pod) => boolean, queue: Queue): Promise<Result> {
    let result: Result;
    for (const key of keys) {
      if (queue.signal.aborted) return undefined;
      const [namespace = "", name = ""] = key.split("/");
      this.#view.drain();
      const at = this.#view.get(namespace, name);
      const pod = at === 0 ? undefined : (decodeStored(this.#pods, this.#view.object(at)) as ApiObject & Pod);
      if (pod === undefined || !isGarbage(pod)) continue;
      const { uid = "", resourceVersion = "" } = pod.metadata;
      const options = { gracePeriodSeconds: 0, preconditions: { uid, resourceVersion } };
      const done = await this.#actor.delete({ resource: this.#pods, namespace, name }, options);
      result = failureOf(done, `Pod ${key}, which nothing looks after, cannot be deleted`) ?? result;
    }
    return result;
  }
}

function fieldMatch(field: string, value: string): Match {
  const match = compileSelector({ labels: [], fields: [{ field, operator: "=", value }] });
  assert(match !== undefined, "A selector of one field is no selector for everything");
  return match;
}
