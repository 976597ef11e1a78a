// Which pods run on which node, read from the side-tables of the pods' log, and the references of the pods of a
// requesting node to. Nothing is followed before the first question, and no pod is decoded but those of nodes that ask.
import type { Pod } from "../api/gen/core/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import { findField, selectionText, valueText } from "../cache/shared/selection.ts";
import { eachChange } from "../cache/view/changes.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { type PodRefs, podRefs } from "./noderefs.ts";

interface Entry {
  readonly node: string;
  /** Tells a pod from a later one of its name. */
  readonly createRevision: number;
  /** Its references; undefined: not read yet. Containers of a pod do not change. */
  refs: PodRefs | undefined;
}

const nodeName = selectionText("spec.nodeName");

/** The pods of each node as one front sees them. */
export class NodePods {
  readonly #objects: Objects;
  readonly #view: LogView | undefined;
  readonly #mirrorKey: string;
  /** By `namespace/name`. */
  readonly #pods = new Map<string, Entry>();
  /** Keys of pods, by node. */
  readonly #byNode = new Map<string, Set<string>>();
  #position = -1;

  constructor(identity: Identity, objects: Objects) {
    this.#objects = objects;
    this.#view = objects.view("", "v1", "pods");
    this.#mirrorKey = identity.spell("kubernetes.io/config.mirror");
  }

  /** Whether a pod in the namespace on the node refers to something. */
  some(node: string, namespace: string, refers: (refs: PodRefs) => boolean): boolean {
    return this.#find(node, `${namespace}/`, (_namespace, refs) => refers(refs));
  }

  /** Whether `test` holds for a claim that a pod on the node uses. */
  someClaim(node: string, is: (namespace: string, claim: string) => boolean): boolean {
    return this.#find(node, "", (namespace, { claims }) => {
      for (const claim of claims) if (is(namespace, claim)) return true;
      return false;
    });
  }

  #find(node: string, prefix: string, is: (namespace: string, refs: PodRefs) => boolean): boolean {
    this.#follow();
    for (const key of this.#byNode.get(node) ?? []) {
      if (!key.startsWith(prefix)) continue;
      const entry = this.#pods.get(key);
      if (entry === undefined) continue;
      const slash = key.indexOf("/");
      const namespace = key.slice(0, slash);
      entry.refs ??= this.#read(namespace, key.slice(slash + 1));
      if (entry.refs !== undefined && is(namespace, entry.refs)) return true;
    }
    return false;
  }

  #read(namespace: string, name: string): PodRefs | undefined {
    const pod = this.#objects.read<Pod & ApiObject>("", "v1", "pods", namespace, name);
    return pod && podRefs(pod, this.#mirrorKey);
  }

  #follow(): void {
    const view = this.#view;
    if (view === undefined) return;
    view.drain();
    const from = this.#position;
    if (from === view.head) return;
    this.#position = view.head;
    const known =
      from !== -1 &&
      eachChange(view, from, (at, type) => {
        const key = view.keyOf(at);
        if (type === recordTypes.delete) this.#remove(key);
        else this.#put(view, at, key);
      });
    if (known) return;
    // Too far behind, or at the beginning.
    this.#pods.clear();
    this.#byNode.clear();
    view.scan("", "", 0, (at, key) => {
      this.#put(view, at, key);
      return true;
    });
  }

  #put(view: LogView, at: Location, key: string): void {
    const source = view.selectionSource(at);
    const table = view.selectionAt(at);
    const field = findField(source, table, nodeName);
    const node = field === -1 ? "" : valueText(source, table, field);
    const createRevision = view.createRevisionOf(at);
    const known = this.#pods.get(key);
    if (known?.node === node && known.createRevision === createRevision) return;
    this.#remove(key);
    if (node === "") return;
    this.#pods.set(key, { node, createRevision, refs: undefined });
    const keys = this.#byNode.get(node);
    if (keys === undefined) this.#byNode.set(node, new Set([key]));
    else keys.add(key);
  }

  #remove(key: string): void {
    const known = this.#pods.get(key);
    if (known === undefined) return;
    this.#pods.delete(key);
    const keys = this.#byNode.get(known.node);
    keys?.delete(key);
    if (keys?.size === 0) this.#byNode.delete(known.node);
  }
}
