// Objects that own each other, as a plain list of them: what a model of the garbage collector needs to know. Each commit is
// checked when it is made, and the collector can be killed between any two commits of its own.
import type { Test } from "tap";
import { nextTurn } from "../../../src/base/turn.ts";
import type { Reconciler } from "../../../src/controllers/reconciler.ts";
import { type Change, changeTypes } from "../../../src/storage/store.ts";
import { definition, definitions, establishedIn, goneFrom, runDefinitions } from "../../support/definitions.ts";
import { openInProcess } from "../../support/inprocess.ts";
import { type Reference, Yard } from "./fixture.ts";
import { MortalStore } from "./mortalstore.ts";

/** An object as it is stored. */
export interface Stored {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly Reference[];
  };
}

/** How an object is deleted. */
export const policies = ["Background", "Foreground", "Orphan"] as const;
export type Policy = (typeof policies)[number];

/** Kinds of objects: built-in ones and a custom one of each scope. Custom kinds come and go. */
const resources = {
  ConfigMap: { group: "", resource: "configmaps", namespaced: true },
  Secret: { group: "", resource: "secrets", namespaced: true },
  Node: { group: "", resource: "nodes", namespaced: false },
  Widget: { group: "example.com", resource: "widgets", namespaced: true },
  Gadget: { group: "example.com", resource: "gadgets", namespaced: false },
} as const;
export type Kind = keyof typeof resources;
export const kinds = Object.keys(resources) as Kind[];
export const customKinds = ["Widget", "Gadget"] as const;
type CustomKind = (typeof customKinds)[number];
export const spaces = ["one", "two"];

function definitionOf(kind: CustomKind): string {
  return `${resources[kind].resource}.example.com`;
}

export function isNamespaced(kind: string): boolean {
  return resources[kind as Kind]?.namespaced ?? true;
}

export function apiVersionOf(kind: Kind): string {
  const { group } = resources[kind];
  return group === "" ? "v1" : `${group}/v1`;
}

export function pathOf(kind: string, namespace = ""): string {
  const { group, resource, namespaced } = resources[kind as Kind];
  const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  return `${root}/${namespaced ? `namespaces/${namespace}/` : ""}${resource}`;
}

export function pathTo({ kind, metadata: { namespace, name } }: Stored): string {
  return `${pathOf(kind, namespace)}/${name}`;
}

export function referenceOf({ kind, metadata: { name, uid } }: Stored): Reference {
  return { apiVersion: apiVersionOf(kind as Kind), kind, name, uid };
}

/** All objects of a test, and the collector at work on them. */
export class World {
  readonly yard: Yard;
  /** Uids of what the test deleted, not the collector. */
  readonly chosen = new Set<string>();
  readonly faults: string[] = [];
  /** Called with the object of each change of the collector that is on its way to the store; what it does is done before. */
  meddle: ((object: Stored) => Promise<void>) | undefined;
  /** Times the collector was killed. */
  crashes = 0;
  /** Ends of commits, begun and done, until the collector is killed. */
  #crashIn = Number.POSITIVE_INFINITY;
  /** Revisions at which custom kinds went. */
  readonly #ended = new Map<string, number>();
  /** Uids of what was deleted with its dependents: one that was let go and is held by something else does not save them. */
  readonly #foreground = new Set<string>();
  /** Custom kinds whose objects the definition's controller deletes. */
  readonly #going = new Set<string>();
  readonly #definitions: Reconciler;

  private constructor(yard: Yard, control: Reconciler) {
    this.yard = yard;
    this.#definitions = control;
    yard.server.store.before = (change) => {
      this.#noteEnd(change);
      this.#checkDelete(change);
      return undefined;
    };
  }

  /** `turns`: how many turns of the loop each commit of the collector takes to reach the store. */
  static async open(turns: () => number): Promise<World> {
    const server = await openInProcess();
    for (const name of spaces) await server.call("POST", "/api/v1/namespaces", { metadata: { name } });
    const ends = (): boolean => {
      if (--world.#crashIn !== 0) return false;
      world.crashes += 1;
      world.yard.crash();
      return true;
    };
    const check = (change: Change): void => {
      world.#checkLetGo(change);
      world.#checkRelease(change);
    };
    const way = async ({ body }: Change): Promise<void> => {
      for (let left = turns(); left > 0; left--) await nextTurn();
      await world.meddle?.(JSON.parse(Buffer.from(body).toString()) as Stored);
    };
    const yard = new Yard(server, undefined, (store) => new MortalStore(store, check, ends, way));
    const world = new World(yard, runDefinitions(server, yard.reports));
    for (const kind of customKinds) await world.define(kind);
    return world;
  }

  /** Kills the collector at one of its next commits: before it, or when it is done and not answered yet. */
  crashAt(steps: number): void {
    this.#crashIn = steps;
  }

  noCrash(): void {
    this.#crashIn = Number.POSITIVE_INFINITY;
  }

  /** All objects of the test, by uid. */
  readonly objects = (): Map<string, Stored> => {
    const all = new Map<string, Stored>();
    const { scheme, views } = this.yard.server;
    for (const { group, resource } of Object.values(resources)) {
      const view = views.find(scheme.find(group, "v1", resource)?.prefix ?? "");
      if (view === undefined || view.gone) continue;
      view.drain();
      view.scan("", "", 0, (at) => {
        const object = JSON.parse(Buffer.from(view.object(at)).toString()) as Stored;
        if (!object.metadata.namespace?.startsWith("kube-")) all.set(object.metadata.uid, object);
        return true;
      });
    }
    return all;
  };

  isServed(kind: string): boolean {
    const known = resources[kind as Kind];
    return known !== undefined && this.yard.server.scheme.find(known.group, "v1", known.resource) !== undefined;
  }

  async define(kind: CustomKind): Promise<void> {
    const { resource, namespaced } = resources[kind];
    const sent = definition(resource, kind) as { spec: { scope: string } };
    sent.spec.scope = namespaced ? "Namespaced" : "Cluster";
    const { code } = await this.yard.server.call("POST", definitions, sent);
    // One that is going is still there.
    if (code === 409) return;
    if (!(await establishedIn(this.yard.server, definitionOf(kind)))) throw new Error(`${kind} is not established`);
    this.#going.delete(kind);
  }

  /** Deletes a custom kind with its objects, when nothing holds them. */
  async undefine(kind: CustomKind): Promise<void> {
    this.#going.add(kind);
    await this.yard.server.call("DELETE", `${definitions}/${definitionOf(kind)}`);
  }

  /** Defines the custom kinds that are not there, after the end of those that are going. True: all were there. */
  async defineAll(): Promise<boolean> {
    const missing = customKinds.filter((kind) => this.#going.has(kind));
    for (const kind of missing) {
      if (!(await goneFrom(this.yard.server, definitionOf(kind)))) throw new Error(`${kind} does not go`);
      await this.define(kind);
    }
    return missing.length === 0;
  }

  async remove(object: Stored, policy: Policy): Promise<void> {
    this.chosen.add(object.metadata.uid);
    const options = { propagationPolicy: policy, preconditions: { uid: object.metadata.uid } };
    await this.yard.server.call("DELETE", pathTo(object), options);
  }

  /** How an object's owner is: unknown where its kind is, or where none of that kind can own the object. */
  stateOf(objects: ReadonlyMap<string, Stored>, of: Stored, { kind, name, uid }: Reference): string {
    const isMisplaced = isNamespaced(kind) && of.metadata.namespace === undefined;
    if (!this.isServed(kind)) {
      const ended = this.#ended.get(kind);
      return ended === undefined || Number(of.metadata.resourceVersion) >= ended || isMisplaced ? "unknown" : "absent";
    }
    if (isMisplaced) return "unknown";
    const owner = objects.get(uid);
    if (owner?.kind !== kind || owner.metadata.name !== name) return "absent";
    if (isNamespaced(kind) && owner.metadata.namespace !== of.metadata.namespace) return "absent";
    const { deletionTimestamp, finalizers = [] } = owner.metadata;
    if (deletionTimestamp === undefined || finalizers.includes("orphan")) return "solid";
    return finalizers.includes("foregroundDeletion") ? "waiting" : "solid";
  }

  /** What is left of objects that nothing holds, by rules of one line each, in no order of any importance. */
  settledList(objects: Map<string, Stored>): string[] {
    for (let isChanged = true; isChanged; ) {
      isChanged = false;
      for (const [uid, object] of objects) {
        const owners = object.metadata.ownerReferences ?? [];
        const states = owners.map((owner) => this.stateOf(objects, object, owner));
        if (states.length === 0 || states.includes("unknown")) continue;
        const living = owners.filter((_owner, index) => states[index] === "solid");
        if (living.length === owners.length) continue;
        if (living.length === 0) objects.delete(uid);
        else objects.set(uid, { ...object, metadata: { ...object.metadata, ownerReferences: living } });
        isChanged = true;
      }
    }
    return listOf(objects);
  }

  /** Objects that are left alone whatever happens to their owners, and keep these from going: one of them is unknown. */
  leftAlone(objects: ReadonlyMap<string, Stored>): Stored[] {
    return [...objects.values()].filter((object) =>
      (object.metadata.ownerReferences ?? []).some((owner) => this.stateOf(objects, object, owner) === "unknown"),
    );
  }

  async close(t: Test): Promise<void> {
    await this.yard.reconciler.stop();
    await this.#definitions.stop();
    t.same(this.yard.server.faults, []);
    t.same(this.faults, []);
    t.same(this.yard.reports, []);
    this.yard.server.close();
  }

  #noteEnd({ type, key }: Change): void {
    if (type !== changeTypes.delete) return;
    const kind = customKinds.find((each) => key.endsWith(`/${definitionOf(each)}`));
    // Each change has a revision, from 1 on.
    if (kind !== undefined) this.#ended.set(kind, this.yard.server.store.changes.length + 1);
  }

  /** What only the collector deletes has owners, and none of them lives. */
  #checkDelete({ type, body, expected }: Change): void {
    const { kind, metadata } = JSON.parse(Buffer.from(body).toString()) as Stored;
    const { uid, name, deletionTimestamp, finalizers } = metadata;
    if (deletionTimestamp !== undefined && finalizers?.includes("foregroundDeletion")) this.#foreground.add(uid);
    if (!kinds.some((each) => each === kind) || this.chosen.has(uid) || this.#going.has(kind)) return;
    if (type !== changeTypes.delete && deletionTimestamp === undefined) return;
    const objects = this.objects();
    const stored = objects.get(uid);
    if (stored === undefined || stored.metadata.deletionTimestamp !== undefined) return;
    // The store refuses what expects another state.
    if (Number(stored.metadata.resourceVersion) !== expected) return;
    const owners = stored.metadata.ownerReferences ?? [];
    const living = owners.filter(
      (owner) =>
        ["solid", "unknown"].includes(this.stateOf(objects, stored, owner)) && !this.#foreground.has(owner.uid),
    );
    if (owners.length === 0 || living.length > 0)
      this.faults.push(`${kind} ${name} is deleted: ${JSON.stringify(owners)}`);
  }

  /** The collector takes no reference to a living owner off. */
  #checkRelease({ type, body, expected }: Change): void {
    const { metadata } = JSON.parse(Buffer.from(body).toString()) as Stored;
    const objects = this.objects();
    const before = objects.get(metadata.uid);
    if (type === changeTypes.delete || Number(before?.metadata.resourceVersion) !== expected) return;
    const left = new Set(metadata.ownerReferences?.map(({ uid }) => uid));
    for (const owner of before?.metadata.ownerReferences ?? []) {
      if (before === undefined || left.has(owner.uid) || this.stateOf(objects, before, owner) !== "solid") continue;
      if (objects.get(owner.uid)?.metadata.deletionTimestamp === undefined)
        this.faults.push(`${pathTo(before)} loses its owner ${owner.kind} ${owner.name}`);
    }
  }

  /** An owner is let go by the collector when nothing that was there when its deletion began keeps it. */
  #checkLetGo({ type, body, expected }: Change): void {
    const { metadata } = JSON.parse(Buffer.from(body).toString()) as Stored;
    const objects = this.objects();
    const owner = objects.get(metadata.uid);
    if (owner === undefined || Number(owner.metadata.resourceVersion) !== expected) return;
    const left = type === changeTypes.delete ? [] : (metadata.finalizers ?? []);
    for (const finalizer of ["foregroundDeletion", "orphan"]) {
      if (!owner.metadata.finalizers?.includes(finalizer) || left.includes(finalizer)) continue;
      if (owner.metadata.deletionTimestamp === undefined) {
        // A deletion in the foreground takes the place of another one.
        if (metadata.deletionTimestamp === undefined)
          this.faults.push(`${pathTo(owner)} loses ${finalizer}, and is not being deleted`);
        continue;
      }
      const isForeground = finalizer === "foregroundDeletion";
      for (const object of objects.values()) {
        if (Number(object.metadata.resourceVersion) > Number(owner.metadata.resourceVersion)) continue;
        // One that names itself goes with its reference, which may have been written after the last look.
        if (object === owner) continue;
        if (isNamespaced(owner.kind) && object.metadata.namespace !== owner.metadata.namespace) continue;
        const isKeeping = object.metadata.ownerReferences?.some(
          ({ kind, name, uid, blockOwnerDeletion }) =>
            uid === metadata.uid &&
            kind === owner.kind &&
            name === owner.metadata.name &&
            (!isForeground || blockOwnerDeletion === true),
        );
        if (isKeeping) this.faults.push(`${pathTo(owner)} loses ${finalizer}, and ${pathTo(object)} is there`);
      }
    }
  }
}

/** Objects as lines: what they are, what holds those that are being deleted, and who owns them. */
export function listOf(objects: ReadonlyMap<string, Stored>): string[] {
  const line = ({ kind, metadata }: Stored): string => {
    const { namespace = "", name, uid, ownerReferences = [], deletionTimestamp, finalizers = [] } = metadata;
    const owners = ownerReferences.map((owner) => owner.uid);
    return [kind, namespace, name, uid, ...(deletionTimestamp === undefined ? [] : finalizers), ...owners].join(" ");
  };
  return [...objects.values()].map(line).sort();
}
