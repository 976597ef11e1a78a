// Who owns what: for each reference from an object to an owner, where the object is and what its owner is called, as
// numbers in typed arrays. Objects are told by the place of their record, owners by a hash of where they would be and of
// their uid, so that nothing is kept of texts and no owner has to be there. Different owners may have one hash: a caller
// that finds dependents here looks at the objects themselves. An owner may have a million dependents: what goes over them
// takes many turns, in which the graph changes.
//
//   reference   place (log, location) ─ owner ─ kind      one per reference; objects with several have several
//   byOwner     hash of an owner ─► reference ⇄ reference ⇄ …
//   byPlace     hash of a place  ─► reference ─► reference …
//
// About 60 bytes per reference.
import { assert } from "../../base/assert.ts";
import type { Location } from "../../cache/shared/record.ts";

const none = -1;
const freeLog = 0xffff;
const capacityMin = 1024;

/** Logs a graph can tell from each other. */
export const graphLogsMax = freeLog;

/** Called with the owner of a reference that goes. */
export type Gone = (owner: number) => void;

/** Where an object in the graph is. */
export interface Place {
  readonly log: number;
  readonly at: Location;
}

/** How far a walk over the dependents of an owner has come. */
export interface Walk {
  readonly owner: number;
  /** The next reference of those that were there at the start. */
  index: number;
  /** References that were added since. */
  readonly added: Set<number>;
  /** Dependents that were met. */
  met: number;
}

/** References that are looked at between two turns. */
const stepSize = 1024;

/** References of objects to owners. All numbers that name something are given by the caller. */
export class OwnerGraph {
  /** References. */
  size = 0;
  #capacity = 0;
  /** References that were ever used lie below; those that are free again are linked by #nextOfPlace. */
  #end = 0;
  #free = none;
  #at = new Float64Array(0);
  #log = new Uint16Array(0);
  #owner = new Int32Array(0);
  #kind = new Int32Array(0);
  #nextOfOwner = new Int32Array(0);
  #beforeOfOwner = new Int32Array(0);
  #nextOfPlace = new Int32Array(0);
  #byOwner = new Int32Array(0);
  #byPlace = new Int32Array(0);
  readonly #walks = new Set<Walk>();
  /** How often the references were moved together. */
  #moves = 0;

  constructor() {
    this.#resize(capacityMin);
  }

  /** Memory it takes. */
  get bytes(): number {
    const perReference = [this.#at, this.#log, this.#owner, this.#kind, this.#nextOfOwner, this.#beforeOfOwner];
    const arrays = [...perReference, this.#nextOfPlace, this.#byOwner, this.#byPlace];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  clear(): void {
    this.size = 0;
    this.#end = 0;
    this.#resize(capacityMin);
  }

  /** Adds a reference of the object at a place to an owner. `kind`: of the owner, as the object spells it. */
  add(log: number, at: Location, owner: number, kind: number): void {
    assert(log < freeLog, "There are more logs than a graph can tell from each other");
    if (this.size === this.#capacity) this.#resize(Math.ceil(this.#capacity * 1.5));
    let index = this.#free;
    if (index === none) index = this.#end++;
    else this.#free = this.#nextOfPlace[index] as number;
    this.size += 1;
    this.#at[index] = at;
    this.#log[index] = log;
    this.#owner[index] = owner;
    this.#kind[index] = kind;
    this.#linkOwner(index);
    this.#linkPlace(index);
    for (const walk of this.#walks) if (walk.owner === owner) walk.added.add(index);
  }

  /** Removes the references of the object at a place. */
  remove(log: number, at: Location, gone: Gone): void {
    const bucket = this.#placeOf(log, at);
    let before = none;
    for (let index = this.#byPlace[bucket] as number; index !== none; ) {
      const next = this.#nextOfPlace[index] as number;
      if (this.#at[index] === at && this.#log[index] === log) {
        if (before === none) this.#byPlace[bucket] = next;
        else this.#nextOfPlace[before] = next;
        this.#release(index, gone);
      } else before = index;
      index = next;
    }
    this.#shrink();
  }

  /** The record of an object was moved. */
  move(log: number, from: Location, to: Location): void {
    const bucket = this.#placeOf(log, from);
    let before = none;
    for (let index = this.#byPlace[bucket] as number; index !== none; ) {
      const next = this.#nextOfPlace[index] as number;
      if (this.#at[index] === from && this.#log[index] === log) {
        if (before === none) this.#byPlace[bucket] = next;
        else this.#nextOfPlace[before] = next;
        this.#at[index] = to;
        this.#linkPlace(index);
        // It may have become the first of this very bucket.
        if (before === none && this.#byPlace[bucket] === index) before = index;
      } else before = index;
      index = next;
    }
  }

  /** Removes the references of all objects of a log, some in each step. None may be added to it meanwhile. */
  *removeLog(log: number, gone: Gone): Generator<undefined> {
    for (const index of this.#all()) {
      if (index === undefined) yield;
      else if (this.#log[index] === log) this.remove(log, this.#at[index] as number, gone);
    }
  }

  /** Whether there is a reference to an owner, or to another one of this hash. */
  hasDependents(owner: number): boolean {
    for (let index = this.#firstOf(owner); index !== none; index = this.#nextOfOwner[index] as number)
      if (this.#owner[index] === owner) return true;
    return false;
  }

  /**
   * Goes over the dependents of an owner while the graph changes: each one that stays is met, and each that is added
   * before the end. To be ended.
   */
  walk(owner: number): Walk {
    const walk = { owner, index: this.#firstOf(owner), added: new Set<number>(), met: 0 };
    this.#walks.add(walk);
    return walk;
  }

  /** The next one of a walk; undefined: there is none by now. */
  next(walk: Walk): Place | undefined {
    const index = this.#nextOn(walk);
    if (index === none) return undefined;
    walk.met += 1;
    return { log: this.#log[index] as number, at: this.#at[index] as number };
  }

  /** Ends a walk. */
  end(walk: Walk): void {
    this.#walks.delete(walk);
  }

  /**
   * Calls `take` with the place of each object that has an owner of these kinds, once or more often; some in each step.
   * Those that are added meanwhile may be left out.
   */
  *eachOfKinds(kinds: ReadonlySet<number>, take: (log: number, at: Location) => void): Generator<undefined> {
    for (const index of this.#all()) {
      if (index === undefined) yield;
      else if (this.#log[index] !== freeLog && kinds.has(this.#kind[index] as number))
        take(this.#log[index] as number, this.#at[index] as number);
    }
  }

  /** The references, used and free ones, while the graph changes: one may come twice. Undefined: time for another turn. */
  *#all(): Generator<number | undefined> {
    for (let moves = -1; moves !== this.#moves; ) {
      moves = this.#moves;
      // When they are moved, all are elsewhere.
      for (let index = 0; index < this.#end && moves === this.#moves; index++) {
        yield index;
        if (index % stepSize === stepSize - 1) yield;
      }
    }
  }

  #nextOn(walk: Walk): number {
    for (let index = walk.index; index !== none; index = walk.index) {
      walk.index = this.#nextOfOwner[index] as number;
      if (this.#owner[index] === walk.owner) return index;
    }
    for (const index of walk.added) {
      walk.added.delete(index);
      return index;
    }
    return none;
  }

  #firstOf(owner: number): number {
    return this.#byOwner[owner & (this.#byOwner.length - 1)] as number;
  }

  #placeOf(log: number, at: Location): number {
    let hash = Math.imul(log, 0x9e3779b1) ^ (at % 0x1_0000_0000);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ Math.floor(at / 0x1_0000_0000);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) & (this.#byPlace.length - 1);
  }

  #linkOwner(index: number): void {
    const bucket = (this.#owner[index] as number) & (this.#byOwner.length - 1);
    const first = this.#byOwner[bucket] as number;
    this.#nextOfOwner[index] = first;
    this.#beforeOfOwner[index] = none;
    if (first !== none) this.#beforeOfOwner[first] = index;
    this.#byOwner[bucket] = index;
  }

  #linkPlace(index: number): void {
    const bucket = this.#placeOf(this.#log[index] as number, this.#at[index] as number);
    this.#nextOfPlace[index] = this.#byPlace[bucket] as number;
    this.#byPlace[bucket] = index;
  }

  /** Takes a reference that is linked by place no more out of those of its owner, and frees it. */
  #release(index: number, gone: Gone): void {
    const owner = this.#owner[index] as number;
    const before = this.#beforeOfOwner[index] as number;
    const next = this.#nextOfOwner[index] as number;
    if (before === none) this.#byOwner[owner & (this.#byOwner.length - 1)] = next;
    else this.#nextOfOwner[before] = next;
    if (next !== none) this.#beforeOfOwner[next] = before;
    for (const walk of this.#walks) {
      if (walk.index === index) walk.index = next;
      walk.added.delete(index);
    }
    this.#log[index] = freeLog;
    this.#nextOfPlace[index] = this.#free;
    this.#free = index;
    this.size -= 1;
    gone(owner);
  }

  #shrink(): void {
    if (this.#capacity > capacityMin && this.size * 4 < this.#capacity)
      this.#resize(Math.max(capacityMin, this.size * 2));
  }

  /** Moves all references together and links them anew. */
  #resize(capacity: number): void {
    const [at, log, owner, kind, end] = [this.#at, this.#log, this.#owner, this.#kind, this.#end];
    this.#capacity = capacity;
    this.#at = new Float64Array(capacity);
    this.#log = new Uint16Array(capacity).fill(freeLog);
    this.#owner = new Int32Array(capacity);
    this.#kind = new Int32Array(capacity);
    this.#nextOfOwner = new Int32Array(capacity);
    this.#beforeOfOwner = new Int32Array(capacity);
    this.#nextOfPlace = new Int32Array(capacity);
    const buckets = 2 ** Math.ceil(Math.log2(capacity));
    this.#byOwner = new Int32Array(buckets).fill(none);
    this.#byPlace = new Int32Array(buckets).fill(none);
    this.#free = none;
    this.#end = 0;
    for (let from = 0; from < end; from++) {
      if (log[from] === freeLog) continue;
      const index = this.#end++;
      this.#at[index] = at[from] as number;
      this.#log[index] = log[from] as number;
      this.#owner[index] = owner[from] as number;
      this.#kind[index] = kind[from] as number;
      this.#linkOwner(index);
      this.#linkPlace(index);
    }
    assert(this.#end === this.size, "A graph lost references");
    this.#moves += 1;
    for (const walk of this.#walks) {
      walk.index = this.#firstOf(walk.owner);
      walk.added.clear();
    }
  }
}
