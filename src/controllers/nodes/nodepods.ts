// Pods of nodes that are not ready, or have taints of the effect NoExecute: they are marked as not ready, and evicted when
// they do not tolerate the taints (any longer). Of pods on other nodes nothing is kept or decoded.
import type { Pod, Taint } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { formatTime } from "../../api/time.ts";
import { type Location, recordTypes } from "../../cache/shared/record.ts";
import { findField, selectionText, valueText } from "../../cache/shared/selection.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";
import { type Actor, failureOf } from "../actor.ts";
import { Corrections } from "../corrections.ts";
import type { Queue, Result } from "../reconciler.ts";
import { type Recorder, referenceTo } from "../recording/eventwriter.ts";
import { storedKind } from "../storedkind.ts";
import type { ListeningTime } from "./listeningtime.ts";
import { readyOf } from "./rules.ts";
import { stayMs } from "./tolerations.ts";

type PodObject = ApiObject & Pod;

/** What pods have to know of their node. */
export interface PodNode {
  /** Status of its condition Ready; undefined: it has none. */
  readonly ready: string | undefined;
  /** Of the effect NoExecute. */
  readonly taints: readonly Taint[];
}

/** What this works with. */
export interface NodePodsParts {
  readonly writers: WriteServices;
  readonly actor: Actor;
  readonly time: ListeningTime;
  readonly record: Recorder;
  /** The same for evictions, which upstream has a component of its own for. */
  readonly recordEviction: Recorder;
  /** Puts a node as it is now. */
  readonly refresh: (node: string, queue: Queue) => void;
}

/** A pod whose eviction is due some time. */
interface Pending {
  readonly node: string;
  readonly uid: string;
  /** Since when it has to tolerate taints of its node, in milliseconds of listening. */
  readonly sinceMs: number;
}

const nodeField = selectionText("spec.nodeName");

/** Before the keys of pods, `namespace/name`. */
const [markWord, evictWord] = ["mark ", "evict "] as const;
const scanKey = "pods";

/** The pods of nodes that something is the matter with. */
export class NodePods {
  readonly view: LogView;
  readonly #parts: NodePodsParts;
  readonly #resource: Resource;
  /** Nodes that are not ready or have taints. */
  readonly #nodes = new Map<string, PodNode>();
  /** By key: pods that tolerate the taints of their node for a time. About 200 bytes each. */
  readonly #pending = new Map<string, Pending>();
  /** Nodes whose pods are to be looked for. */
  readonly #unscanned = new Set<string>();
  /** When they were looked for last, on the monotonic clock. */
  #scannedMs = Number.NEGATIVE_INFINITY;
  readonly #corrections = new Corrections();

  constructor(parts: NodePodsParts) {
    const { resource, view } = storedKind(parts.writers, "", "v1", "pods");
    this.#parts = parts;
    this.#resource = resource;
    this.view = view;
  }

  /** Takes in how a node is now; undefined: it is gone. Its pods are looked for where that leads to something. */
  putNode(name: string, node: PodNode | undefined, queue: Queue): void {
    const before = this.#nodes.get(name);
    const isCalm = node === undefined || (node.taints.length === 0 && (node.ready ?? "True") === "True");
    if (isCalm) this.#nodes.delete(name);
    else this.#nodes.set(name, node);
    if (before !== undefined && (node === undefined || node.taints.length === 0)) {
      // Each learns from its pod whether there is something to cancel.
      for (const [key, pending] of this.#pending) if (pending.node === name) queue.add(evictWord + key);
    }
    if (node === undefined || isCalm) return;
    const isSilent = node.ready === "Unknown" && before?.ready !== "Unknown";
    const isTainted = node.taints.length > 0 && !areSame(node.taints, before?.taints ?? []);
    if (!isSilent && !isTainted) return;
    this.#unscanned.add(name);
    this.#wantScan(queue);
  }

  /** Takes in a change of a pod. */
  note(queue: Queue, at: Location, type: number): void {
    if (this.#nodes.size === 0) return;
    const name = this.#nodeOf(at);
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    const key = this.view.keyOf(at);
    if (type === recordTypes.delete) return void this.#pending.delete(key);
    if ((node.ready ?? "True") !== "True") queue.add(markWord + key);
    if (node.taints.length > 0) queue.add(evictWord + key);
  }

  /** All pods of the nodes that matter are looked at again: changes may have been missed. */
  lookAgain(queue: Queue): void {
    for (const name of this.#nodes.keys()) this.#unscanned.add(name);
    for (const key of this.#pending.keys()) queue.add(evictWord + key);
    if (this.#unscanned.size > 0) this.#wantScan(queue);
  }

  /** Works on a key that this added; undefined: it is none of them. */
  work(key: string, queue: Queue): Promise<Result> | undefined {
    if (key === scanKey) return this.#scan(queue);
    if (key.startsWith(markWord)) return this.#mark(key.slice(markWord.length));
    if (key.startsWith(evictWord)) return this.#evict(key.slice(evictWord.length), queue);
    return undefined;
  }

  /** At once, and not again soon after: nodes that are lost together are looked for together. */
  #wantScan(queue: Queue): void {
    queue.addAfter(scanKey, this.#scannedMs + limits.nodePodsScanMs - this.#parts.writers.clock.monotonic());
  }

  /** Finds the pods of all nodes that wait for that, in one go through all pods. */
  async #scan(queue: Queue): Promise<Result> {
    const names = new Set(this.#unscanned);
    this.#unscanned.clear();
    this.#scannedMs = this.#parts.writers.clock.monotonic();
    this.view.drain();
    await queue.scan(this.view, (at, key) => {
      const name = this.#nodeOf(at);
      const node = names.has(name) ? this.#nodes.get(name) : undefined;
      // A pod's readiness is its agent's to say as long as that is heard of.
      if (node?.ready === "Unknown") queue.add(markWord + key);
      if (node !== undefined && node.taints.length > 0) queue.add(evictWord + key);
    });
    return undefined;
  }

  /** Says of a pod that it is not ready (upstream: MarkPodsNotReady). */
  async #mark(key: string): Promise<Result> {
    const pod = this.#read(key);
    if (pod === undefined || !this.#isMistaken(pod)) return undefined;
    const { writers, actor, record } = this.#parts;
    const pauseMs = this.#corrections.take(key, "False", writers.clock.monotonic());
    if (pauseMs > 0) return { againMs: pauseMs };
    let isDone = false;
    const done = await actor.update<PodObject>({ ...this.#target(pod), subresource: "status" }, (current) => {
      isDone = current.metadata.uid === pod.metadata.uid && this.#isMistaken(current);
      const ready = readyOf(current);
      if (!isDone || ready === undefined) return undefined;
      ready.status = "False";
      ready.lastTransitionTime = formatTime(writers.clock.now());
      return undefined;
    });
    const failure = failureOf(done, `Pod ${key}, whose node is not ready, cannot be marked so`);
    if (failure === undefined && isDone)
      record(referenceTo(this.#resource, pod), "Warning", "NodeNotReady", "Node is not ready");
    return failure;
  }

  /** Whether a pod says it is ready although its node is not. */
  #isMistaken(pod: PodObject): boolean {
    const node = this.#nodes.get(pod.spec.nodeName ?? "");
    return (node?.ready ?? "True") !== "True" && (readyOf(pod)?.status ?? "False") !== "False";
  }

  /** Deletes a pod that does not tolerate the taints of its node any longer, or looks at it again when that is so. */
  async #evict(key: string, queue: Queue): Promise<Result> {
    const pod = this.#read(key);
    const name = pod?.spec.nodeName ?? "";
    // It may have been heard of since.
    this.#parts.refresh(name, queue);
    const node = this.#nodes.get(name);
    // What is being deleted stays for as long as its agent takes.
    if (pod === undefined || node === undefined || pod.metadata.deletionTimestamp !== undefined) {
      return this.#cancel(key, pod);
    }
    const stay = stayMs(node.taints, pod.spec.tolerations);
    if (stay === Number.POSITIVE_INFINITY) return this.#cancel(key, pod);
    const { uid = "" } = pod.metadata;
    const { actor, time, recordEviction } = this.#parts;
    let pending = this.#pending.get(key);
    if (pending?.uid !== uid || pending.node !== name) {
      this.#pending.set(key, (pending = { node: name, uid, sinceMs: time.nowMs }));
    }
    const leftMs = pending.sinceMs + stay - time.nowMs;
    if (leftMs > 0) return { againMs: leftMs };
    recordEviction(
      referenceTo(this.#resource, pod),
      "Normal",
      "TaintManagerEviction",
      `Marking for deletion Pod ${key}`,
    );
    const done = await actor.delete(this.#target(pod), { preconditions: { uid } });
    const failure = failureOf(done, `Pod ${key}, which does not tolerate the taints of its node, cannot be deleted`);
    if (failure === undefined) this.#pending.delete(key);
    return failure;
  }

  /** A pod may stay, or is gone. */
  #cancel(key: string, pod: PodObject | undefined): undefined {
    const pending = this.#pending.get(key);
    this.#pending.delete(key);
    if (pending === undefined || pending.uid !== pod?.metadata.uid || pod.metadata.deletionTimestamp !== undefined)
      return;
    const { recordEviction } = this.#parts;
    recordEviction(
      referenceTo(this.#resource, pod),
      "Normal",
      "TaintManagerEviction",
      `Cancelling deletion of Pod ${key}`,
    );
  }

  #nodeOf(at: Location): string {
    const source = this.view.selectionSource(at);
    const table = this.view.selectionAt(at);
    const entry = findField(source, table, nodeField);
    return entry === -1 ? "" : valueText(source, table, entry);
  }

  #read(key: string): PodObject | undefined {
    const slash = key.indexOf("/");
    this.view.drain();
    const at = this.view.get(key.slice(0, slash), key.slice(slash + 1));
    return at === 0 ? undefined : (decodeStored(this.#resource, this.view.object(at)) as PodObject);
  }

  #target({ metadata: { namespace, name = "" } }: PodObject) {
    return { resource: this.#resource, namespace, name };
  }
}

function areSame(a: readonly Taint[], b: readonly Taint[]): boolean {
  const text = (taints: readonly Taint[]): string =>
    JSON.stringify(taints.map(({ key, value = "", effect }) => [key, value, effect]));
  return text(a) === text(b);
}
