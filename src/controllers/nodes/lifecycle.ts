// Finds nodes whose agent is silent and says so in their status, keeps the taints and labels that follow from a node's
// conditions, and has pods of lost nodes evicted (upstream: its controller nodelifecycle). An agent is heard of by changes
// of its lease and of its node's status; when, counts from what this server saw itself, on a clock that runs while it
// listens. Times that agents write are compared with each other only.
import type { Resource } from "../../api/scheme.ts";
import { isStatus } from "../../api/status.ts";
import { formatTime } from "../../api/time.ts";
import { type Location, recordTypes } from "../../cache/shared/record.ts";
import { isNamespace, nameText, type SelectionText, selectionText } from "../../cache/shared/selection.ts";
import type { LogView } from "../../cache/view/view.ts";
import { partsOf, readParts } from "../../codec/engine/parts.ts";
import { decodeDocument, decodeStoredText } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import type { NodesConfig } from "../../config/nodeflags.ts";
import type { NodeMeter } from "../../observe/nodes.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";
import { Actor, failureOf } from "../actor.ts";
import { Corrections } from "../corrections.ts";
import type { Changed, Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import { type Recorder, type Recorders, referenceTo } from "../recording/eventwriter.ts";
import { findStored, storedKind } from "../storedkind.ts";
import { ListeningTime } from "./listeningtime.ts";
import { NodePods } from "./nodepods.ts";
import { heartbeatOf, type NodeObject, NodeRules, readyOf } from "./rules.ts";
import { type ZoneCount, Zones } from "./zones.ts";

/** What the controller is told. */
export interface LifecycleOptions {
  readonly config: NodesConfig;
  readonly meter: NodeMeter;
  readonly recorders: Recorders;
}

/** What is known of a node: about 400 bytes. */
interface Known {
  readonly uid: string;
  /** Status of its condition Ready; undefined: its agent has not reported one yet. */
  ready: string | undefined;
  /** What its agent wrote last, as it wrote it: the heartbeat in its status, and the renewal of its lease. */
  heartbeat: string | undefined;
  renewal: string | undefined;
  /** When its agent was heard of last, in milliseconds of listening. */
  heardMs: number;
  zone: string;
  isExcluded: boolean;
  /** It has no NoExecute taint although it should; whether it waits for its zone's turn. */
  isUntainted: boolean;
  isWaiting: boolean;
}

/** The parts of a node that are read: a tenth of it. */
const nodeParts = partsOf([
  ["metadata", "name"],
  ["metadata", "uid"],
  ["metadata", "labels"],
  ["metadata", "creationTimestamp"],
  ["spec", "taints"],
  ["spec", "unschedulable"],
  ["status", "conditions"],
]);

const monitorKey = "monitor";
const [nodeWord, zoneWord] = ["node ", "zone "] as const;
const renewText = Buffer.from('"renewTime":"');
const quote = 0x22;

/** Works on nodes, zones and pods. Follows the logs of nodes, their leases and pods. */
export class NodeLifecycle implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.nodeWritesMax, laneOf: (key) => key.slice(0, key.indexOf(" ")) };
  readonly #writers: WriteServices;
  readonly #options: LifecycleOptions;
  readonly #actor: Actor;
  readonly #record: Recorder;
  readonly #resource: Resource;
  readonly #nodes: LogView;
  readonly #leases: LogView | undefined;
  readonly #leaseNamespace: SelectionText;
  readonly #leaseNamespaceName: string;
  readonly #rules: NodeRules;
  readonly #time: ListeningTime;
  readonly #zones: Zones;
  readonly #pods: NodePods;
  readonly #known = new Map<string, Known>();
  readonly #corrections = new Corrections();
  #isComplete = false;

  constructor(writers: WriteServices, options: LifecycleOptions) {
    const { scheme, clock } = writers;
    const { identity } = scheme;
    const nodes = storedKind(writers, "", "v1", "nodes");
    this.#writers = writers;
    this.#options = options;
    const user = "system:serviceaccount:kube-system:node-controller";
    this.#actor = new Actor(writers, "kube-controller-manager", user);
    this.#record = options.recorders.recorder("node-controller", user);
    this.#resource = nodes.resource;
    this.#nodes = nodes.view;
    this.#leases = findStored(writers, "coordination.k8s.io", "v1", "leases")?.view;
    this.#leaseNamespaceName = identity.spell("kube-node-lease");
    this.#leaseNamespace = selectionText(this.#leaseNamespaceName);
    this.#rules = new NodeRules(identity);
    const { periodMs, graceMs } = options.config;
    this.#time = new ListeningTime(clock, Math.min(2 * periodMs, graceMs / 2));
    this.#zones = new Zones(options.config);
    const refresh = (node: string, queue: Queue): void => void this.#read(node, queue);
    const recordEviction = options.recorders.recorder("taint-controller", user);
    const common = { writers, actor: this.#actor, time: this.#time, record: this.#record, recordEviction };
    this.#pods = new NodePods({ ...common, refresh });
    const renewed: Changed = (_queue, at, type) => this.#renewed(at, type);
    this.follows = [
      [this.#nodes, (queue, at) => queue.add(nodeWord + this.#nodes.keyOf(at))],
      [this.#pods.view, (queue, at, type) => this.#pods.note(queue, at, type)],
      ...(this.#leases === undefined ? [] : ([[this.#leases, renewed]] as const)),
    ];
  }

  /** Looks at every node, and begins to watch over them. */
  async all(queue: Queue): Promise<void> {
    const { meter } = this.#options;
    if (!this.#isComplete) queue.signal.addEventListener("abort", () => meter.counted(new Map()), { once: true });
    this.#nodes.drain();
    const names = new Set(this.#known.keys());
    await queue.scan(this.#nodes, (_at, name) => void names.add(name));
    for (const name of names) {
      this.#read(name, queue);
      this.#hear(name);
      queue.add(nodeWord + name);
      await queue.giveWay();
    }
    this.#pods.lookAgain(queue);
    this.#isComplete = !queue.signal.aborted;
    if (!queue.has(monitorKey)) queue.add(monitorKey);
  }

  async work(key: string, queue: Queue): Promise<Result> {
    if (key === monitorKey) return this.#monitor(queue);
    if (key.startsWith(nodeWord)) return this.#tend(key.slice(nodeWord.length), queue);
    if (key.startsWith(zoneWord)) return this.#taintNext(key.slice(zoneWord.length), queue);
    return this.#pods.work(key, queue);
  }

  /** Finds silent nodes, and what has become of zones. */
  #monitor(queue: Queue): Result {
    const { periodMs } = this.#options.config;
    if (!this.#isComplete) return { againMs: periodMs };
    const nowMs = this.#time.nowMs;
    const counts = new Map<string, ZoneCount>();
    for (const [name, known] of this.#known) {
      const isSilent = this.#isSilent(known, nowMs);
      if (isSilent && (known.ready !== "Unknown" || (known.isUntainted && !known.isWaiting)))
        queue.add(nodeWord + name);
      if (known.isExcluded) continue;
      let count = counts.get(known.zone);
      if (count === undefined) counts.set(known.zone, (count = { ready: 0, lost: 0 }));
      if (known.ready === "True" && !isSilent) count.ready += 1;
      else count.lost += 1;
    }
    const isTurned = this.#zones.count(counts, nowMs);
    this.#options.meter.counted(counts);
    if (isTurned) this.#turn(queue);
    for (const zone of this.#zones.waiting) queue.add(zoneWord + zone);
    return { againMs: periodMs };
  }

  /** The last ready node was lost, or the first one came back. */
  #turn(queue: Queue): void {
    // Nodes that are still silent then may be on their way back.
    if (!this.#zones.isDisrupted) this.#forgive();
    for (const name of this.#known.keys()) queue.add(nodeWord + name);
  }

  /** All grace begins anew: nodes could not be heard of. */
  #forgive(): void {
    const nowMs = this.#time.nowMs;
    for (const known of this.#known.values()) known.heardMs = nowMs;
  }

  #isSilent({ ready, heardMs }: Known, nowMs: number): boolean {
    const { graceMs, startupGraceMs } = this.#options.config;
    return nowMs - heardMs > (ready === undefined ? startupGraceMs : graceMs);
  }

  /** Brings status, taints and labels of one node up to date. */
  async #tend(name: string, queue: Queue): Promise<Result> {
    const node = this.#read(name, queue);
    this.#hear(name);
    const known = this.#known.get(name);
    if (node === undefined || known === undefined) return undefined;
    // What that changes is news.
    if (known.ready !== "Unknown" && this.#isSilent(known, this.#time.nowMs)) return this.#silence(node);
    // One that is Unknown from before may be on its way back: it has its grace after a start, and when disruption ends.
    known.isWaiting = known.isUntainted && (known.ready !== "Unknown" || this.#isSilent(known, this.#time.nowMs));
    if (known.isWaiting) {
      this.#zones.want(known.zone, name);
      queue.add(zoneWord + known.zone);
    } else this.#zones.forget(known.zone, name);
    return this.#settle(node, false);
  }

  /** Says in a node's status that its agent is silent. */
  async #silence(node: NodeObject): Promise<Result> {
    const { name = "", uid } = node.metadata;
    const heartbeat = heartbeatOf(node);
    let wasReady = false;
    const target = { resource: this.#resource, name, subresource: "status" };
    const done = await this.#actor.update<NodeObject>(target, (current) => {
      const ready = readyOf(current);
      wasReady = false;
      // It was heard of in between.
      if (current.metadata.uid !== uid || heartbeatOf(current) !== heartbeat) return undefined;
      wasReady = ready?.status === "True";
      this.#rules.silence(current, this.#now());
      return undefined;
    });
    const failure = failureOf(done, `Node ${name}, whose agent is silent, cannot be marked so`);
    // A store that refuses this has refused heartbeats as well.
    if (isStatus(done) && refusals.has(done.code)) this.#forgive();
    if (failure === undefined && wasReady) {
      const message = `Node ${name} status is now: NodeNotReady`;
      this.#record(referenceTo(this.#resource, node), "Normal", "NodeNotReady", message);
    }
    return failure;
  }

  /** Makes taints and labels of a node as they should be. `mayTaint`: also the one its pods are evicted by. */
  async #settle(node: NodeObject, mayTaint: boolean): Promise<Result> {
    const leave = { evicts: this.#options.config.evicts, isDisrupted: this.#zones.isDisrupted, mayTaint };
    const { name = "", uid } = node.metadata;
    if (!this.#rules.settle(node, leave, this.#now())) return undefined;
    const pauseMs = this.#corrections.take(name, this.#rules.describe(node), this.#writers.clock.monotonic());
    if (pauseMs > 0) return { againMs: pauseMs };
    let isTainted = false;
    const done = await this.#actor.update<NodeObject>({ resource: this.#resource, name }, (current) => {
      if (current.metadata.uid !== uid) return undefined;
      const lacked = this.#rules.lacksTaint(current);
      this.#rules.settle(current, leave, this.#now());
      isTainted = lacked && !this.#rules.lacksTaint(current);
      return undefined;
    });
    const failure = failureOf(done, `Taints and labels of node ${name} cannot be updated`);
    if (failure === undefined && isTainted) this.#options.meter.evicted(this.#rules.zoneOf(node));
    return failure;
  }

  /** Taints the node of a zone whose turn it is, so that its pods are evicted. */
  async #taintNext(zone: string, queue: Queue): Promise<Result> {
    const next = this.#zones.take(zone, this.#time.nowMs);
    if (next === undefined) return undefined;
    if (typeof next === "number") return { againMs: next };
    const node = this.#read(next, queue);
    const result = node && (await this.#settle(node, true));
    if (result === undefined) return { againMs: 1 };
    this.#zones.want(zone, next);
    if ("againMs" in result) return result;
    queue.report(nodeWord + next, result.message ?? "", result.cause);
    return { againMs: 1 };
  }

  /** Reads a node as it is now, and takes in what is new of it; undefined: it is gone. */
  #read(name: string, queue: Queue): NodeObject | undefined {
    this.#nodes.drain();
    const at = this.#nodes.get("", name);
    const node = at === 0 ? undefined : this.#decode(at);
    const before = this.#known.get(name);
    if (before !== undefined && before.uid !== node?.metadata.uid) this.#drop(name, before, queue);
    if (node === undefined) return undefined;
    const ready = readyOf(node);
    let known = this.#known.get(name);
    if (known === undefined) known = this.#add(node);
    const heartbeat = heartbeatOf(node);
    if (heartbeat !== known.heartbeat) known.heardMs = this.#time.nowMs;
    const zone = this.#rules.zoneOf(node);
    if (zone !== known.zone) this.#zones.forget(known.zone, name);
    const isUntainted = this.#options.config.evicts && this.#rules.lacksTaint(node);
    const isExcluded = this.#rules.isExcluded(node);
    Object.assign(known, { heartbeat, zone, ready: ready?.status, isExcluded, isUntainted });
    this.#putPods(name, node, queue);
    return node;
  }

  #putPods(name: string, node: NodeObject, queue: Queue): void {
    const { evicts } = this.#options.config;
    const taints = evicts ? this.#rules.executing(node, this.#zones.isDisrupted) : [];
    this.#pods.putNode(name, { ready: readyOf(node)?.status, taints }, queue);
  }

  #add(node: NodeObject): Known {
    const { name = "", uid = "" } = node.metadata;
    const heartbeat = heartbeatOf(node);
    const known: Known = {
      uid,
      ready: undefined,
      heartbeat,
      renewal: undefined,
      heardMs: this.#time.nowMs,
      zone: this.#rules.zoneOf(node),
      isExcluded: false,
      isUntainted: false,
      isWaiting: false,
    };
    this.#known.set(name, known);
    // Those that were there before were registered with an earlier start.
    if (!this.#isComplete) return known;
    const message = `Node ${name} event: Registered Node ${name} in Controller`;
    this.#record(referenceTo(this.#resource, node), "Normal", "RegisteredNode", message);
    return known;
  }

  #drop(name: string, { uid, zone }: Known, queue: Queue): void {
    this.#known.delete(name);
    this.#zones.forget(zone, name);
    this.#pods.putNode(name, undefined, queue);
    const message = `Node ${name} event: Removing Node ${name} from Controller`;
    this.#record(referenceTo(this.#resource, { metadata: { name, uid } }), "Normal", "RemovingNode", message);
  }

  #decode(at: Location): NodeObject {
    const text = Buffer.from(this.#nodes.object(at)).toString();
    const parts = nodeParts && readParts(text, nodeParts);
    return (
      parts ? decodeDocument(this.#resource, parts.document) : decodeStoredText(this.#resource, text)
    ) as NodeObject;
  }

  /** Takes in what the lease of a node says now: changes that were published may not have been handed on. */
  #hear(name: string): void {
    const leases = this.#leases;
    leases?.drain();
    const at = leases?.get(this.#leaseNamespaceName, name) ?? 0;
    if (at !== 0) this.#renewed(at, recordTypes.update);
  }

  /** A lease changed. */
  #renewed(at: Location, type: number): void {
    const view = this.#leases;
    if (view === undefined || type === recordTypes.delete) return;
    const source = view.selectionSource(at);
    const table = view.selectionAt(at);
    // A newer one is handed on, too.
    if (!isNamespace(source, table, this.#leaseNamespace) || !view.isCurrent(at)) return;
    const known = this.#known.get(nameText(source, table));
    if (known === undefined) return;
    const renewal = renewalOf(view.object(at));
    if (renewal === undefined || renewal === known.renewal) return;
    known.renewal = renewal;
    known.heardMs = this.#time.nowMs;
  }

  #now(): string {
    return formatTime(this.#writers.clock.now());
  }
}

/** Codes of a store that takes no changes at the moment. */
const refusals: ReadonlySet<number> = new Set([429, 503, 504]);

/** When a lease was renewed last, as its text says; undefined: it does not. It stands behind whatever metadata there is. */
function renewalOf(object: Uint8Array<SharedArrayBuffer>): string | undefined {
  const bytes = Buffer.from(object.buffer, object.byteOffset, object.byteLength);
  const at = bytes.lastIndexOf(renewText);
  if (at === -1) return undefined;
  const from = at + renewText.length;
  return bytes.toString("latin1", from, bytes.indexOf(quote, from));
}
