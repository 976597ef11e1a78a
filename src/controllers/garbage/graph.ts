// Who owns what: for each reference from an object to an owner, where the object is and what its owner is called, as
// numbers in rows. Objects are told by the place of their record, owners by a hash of where they would be and of their uid,
// so that nothing is kept of texts and no owner has to be there. Different owners may have one hash: a caller that finds
// dependents here looks at the objects themselves. An owner may have a million dependents: what goes over them takes many
// turns, in which the graph changes. No single change takes longer where there are many references.
//
//   reference   place (log, location) ─ owner ─ kind      one row each; objects with several owners have several
//   owners      hash of an owner ─► head ─► head ─► …     a head is the newest reference to its owner;
//                                    ⇅       ⇅            those to the same one are linked below it
//                                    …       …
//   places      hash of a place ─► reference ⇄ reference ⇄ …
//
// The rows have no gaps: the last reference takes the row of one that goes. About 50 bytes per reference.
import { assert } from "../../base/assert.ts";
import type { Location } from "../../cache/shared/record.ts";
import { Buckets, none } from "./buckets.ts";
import { Rows } from "./rows.ts";

/** Logs a graph can tell from each other. */
export const graphLogsMax = 0xffff;

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

/** The numbers of a reference, each in its column. */
const of = {
  log: 0,
  /** The location has up to 53 bits. */
  atLow: 1,
  atHigh: 2,
  owner: 3,
  kind: 4,
  /** The references to the same owner, from its head on. */
  nextOfOwner: 5,
  beforeOfOwner: 6,
  /** The next owner's head in the same chain; of heads only. */
  nextHead: 7,
  /** The references in the chain of their place. */
  nextOfPlace: 8,
  beforeOfPlace: 9,
} as const;
const columnsCount = 10;

/** References of objects to owners. All numbers that name something are given by the caller. */
export class OwnerGraph {
  readonly #rows = new Rows(columnsCount);
  readonly #owners = new Buckets();
  readonly #places = new Buckets();
  readonly #walks = new Set<Walk>();

  /** References. */
  get size(): number {
    return this.#rows.count;
  }

  /** Memory it takes. */
  get bytes(): number {
    return this.#rows.bytes + this.#owners.bytes + this.#places.bytes;
  }

  clear(): void {
    this.#rows.clear();
    this.#owners.clear();
    this.#places.clear();
    for (const walk of this.#walks) {
      walk.index = none;
      walk.added.clear();
    }
  }

  /** Adds a reference of the object at a place to an owner. `kind`: of the owner, as the object spells it. */
  add(log: number, at: Location, owner: number, kind: number): void {
    assert(log < graphLogsMax, "There are more logs than a graph can tell from each other");
    const index = this.#rows.push();
    this.#rows.set(index, of.log, log);
    this.#setAt(index, at);
    this.#rows.set(index, of.owner, owner);
    this.#rows.set(index, of.kind, kind);
    this.#linkOwner(index);
    this.#linkPlace(index);
    this.#fit();
    for (const walk of this.#walks) if (walk.owner === owner) walk.added.add(index);
  }

  /** Removes the references of the object at a place. */
  remove(log: number, at: Location, gone: Gone): void {
    for (let index = this.#places.first(hashOfPlace(log, at)); index !== none; ) {
      const next = this.#rows.get(index, of.nextOfPlace);
      if (this.#isAt(index, log, at)) {
        this.#release(index, gone);
        // The last reference has this row now.
        if (next !== this.size) index = next;
      } else index = next;
    }
    this.#fit();
  }

  /** The record of an object was moved. */
  move(log: number, from: Location, to: Location): void {
    for (let index = this.#places.first(hashOfPlace(log, from)); index !== none; ) {
      const next = this.#rows.get(index, of.nextOfPlace);
      if (this.#isAt(index, log, from)) {
        this.#unlinkPlace(index);
        this.#setAt(index, to);
        this.#linkPlace(index);
      }
      index = next;
    }
  }

  /** Removes the references of all objects of a log, some in each step. None may be added to it meanwhile. */
  *removeLog(log: number, gone: Gone): Generator<undefined> {
    for (const index of this.#all()) {
      if (index === undefined) yield;
      else if (this.#rows.get(index, of.log) === log) this.remove(log, this.#at(index), gone);
    }
  }

  /** Whether there is a reference to an owner, or to another one of this hash. */
  hasDependents(owner: number): boolean {
    return this.#headOf(owner) !== none;
  }

  /**
   * Goes over the dependents of an owner while the graph changes: each one that stays is met, and each that is added
   * before the end. To be ended.
   */
  walk(owner: number): Walk {
    const walk = { owner, index: this.#headOf(owner), added: new Set<number>(), met: 0 };
    this.#walks.add(walk);
    return walk;
  }

  /** The next one of a walk; undefined: there is none by now. */
  next(walk: Walk): Place | undefined {
    const index = this.#nextOn(walk);
    if (index === none) return undefined;
    walk.met += 1;
    return { log: this.#rows.get(index, of.log), at: this.#at(index) };
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
      else if (kinds.has(this.#rows.get(index, of.kind))) take(this.#rows.get(index, of.log), this.#at(index));
    }
  }

  /**
   * The references while the graph changes: one may come twice. Undefined: time for another turn. From the last to the
   * first: one that takes another row takes a lower one, so that none is missed.
   */
  *#all(): Generator<number | undefined> {
    let looks = 0;
    for (let index = this.size - 1; index >= 0; index = Math.min(index, this.size) - 1) {
      yield index;
      looks += 1;
      if (looks % stepSize === 0) yield;
    }
  }

  #nextOn(walk: Walk): number {
    const { index } = walk;
    if (index !== none) {
      walk.index = this.#rows.get(index, of.nextOfOwner);
      return index;
    }
    for (const added of walk.added) {
      walk.added.delete(added);
      return added;
    }
    return none;
  }

  #at(index: number): Location {
    return this.#rows.get(index, of.atHigh) * 0x1_0000_0000 + (this.#rows.get(index, of.atLow) >>> 0);
  }

  #setAt(index: number, at: Location): void {
    this.#rows.set(index, of.atLow, at | 0);
    this.#rows.set(index, of.atHigh, Math.floor(at / 0x1_0000_0000));
  }

  #isAt(index: number, log: number, at: Location): boolean {
    return this.#at(index) === at && this.#rows.get(index, of.log) === log;
  }

  /** The newest reference to an owner. */
  #headOf(owner: number): number {
    let head = this.#owners.first(owner);
    while (head !== none && this.#rows.get(head, of.owner) !== owner) head = this.#rows.get(head, of.nextHead);
    return head;
  }

  #linkOwner(index: number): void {
    const owner = this.#rows.get(index, of.owner);
    const head = this.#headOf(owner);
    this.#rows.set(index, of.beforeOfOwner, none);
    this.#rows.set(index, of.nextOfOwner, head);
    if (head === none) return this.#linkHead(index);
    this.#rows.set(head, of.beforeOfOwner, index);
    this.#rows.set(index, of.nextHead, this.#rows.get(head, of.nextHead));
    this.#replaceHead(owner, head, index);
  }

  #linkHead(index: number): void {
    const owner = this.#rows.get(index, of.owner);
    this.#rows.set(index, of.nextHead, this.#owners.first(owner));
    this.#owners.setFirst(owner, index);
  }

  /** Has the chain of an owner go on with `by` where it went on with one of its heads. */
  #replaceHead(owner: number, head: number, by: number): void {
    let before = this.#owners.first(owner);
    if (before === head) return this.#owners.setFirst(owner, by);
    while (this.#rows.get(before, of.nextHead) !== head) before = this.#rows.get(before, of.nextHead);
    this.#rows.set(before, of.nextHead, by);
  }

  #unlinkOwner(index: number): void {
    const owner = this.#rows.get(index, of.owner);
    const before = this.#rows.get(index, of.beforeOfOwner);
    const next = this.#rows.get(index, of.nextOfOwner);
    if (next !== none) this.#rows.set(next, of.beforeOfOwner, before);
    if (before !== none) return this.#rows.set(before, of.nextOfOwner, next);
    const nextHead = this.#rows.get(index, of.nextHead);
    if (next !== none) this.#rows.set(next, of.nextHead, nextHead);
    this.#replaceHead(owner, index, next === none ? nextHead : next);
  }

  #linkPlace(index: number): void {
    const hash = this.#hashOfPlace(index);
    const first = this.#places.first(hash);
    this.#rows.set(index, of.beforeOfPlace, none);
    this.#rows.set(index, of.nextOfPlace, first);
    if (first !== none) this.#rows.set(first, of.beforeOfPlace, index);
    this.#places.setFirst(hash, index);
  }

  #unlinkPlace(index: number): void {
    const before = this.#rows.get(index, of.beforeOfPlace);
    const next = this.#rows.get(index, of.nextOfPlace);
    if (next !== none) this.#rows.set(next, of.beforeOfPlace, before);
    if (before !== none) this.#rows.set(before, of.nextOfPlace, next);
    else this.#places.setFirst(this.#hashOfPlace(index), next);
  }

  #hashOfPlace(index: number): number {
    return hashOfPlace(this.#rows.get(index, of.log), this.#at(index));
  }

  /** Takes a reference out, and has the last one take its row. */
  #release(index: number, gone: Gone): void {
    const owner = this.#rows.get(index, of.owner);
    const next = this.#rows.get(index, of.nextOfOwner);
    this.#unlinkOwner(index);
    this.#unlinkPlace(index);
    for (const walk of this.#walks) {
      if (walk.index === index) walk.index = next;
      walk.added.delete(index);
    }
    if (index < this.size - 1) this.#moveRow(this.size - 1, index);
    this.#rows.pop();
    gone(owner);
  }

  /** Has a reference take a row that is free. */
  #moveRow(from: number, to: number): void {
    this.#rows.copy(from, to);
    const beforeOfOwner = this.#rows.get(to, of.beforeOfOwner);
    const nextOfOwner = this.#rows.get(to, of.nextOfOwner);
    if (beforeOfOwner === none) this.#replaceHead(this.#rows.get(to, of.owner), from, to);
    else this.#rows.set(beforeOfOwner, of.nextOfOwner, to);
    if (nextOfOwner !== none) this.#rows.set(nextOfOwner, of.beforeOfOwner, to);
    const beforeOfPlace = this.#rows.get(to, of.beforeOfPlace);
    const nextOfPlace = this.#rows.get(to, of.nextOfPlace);
    if (beforeOfPlace === none) this.#places.setFirst(this.#hashOfPlace(to), to);
    else this.#rows.set(beforeOfPlace, of.nextOfPlace, to);
    if (nextOfPlace !== none) this.#rows.set(nextOfPlace, of.beforeOfPlace, to);
    for (const walk of this.#walks) {
      if (walk.index === from) walk.index = to;
      if (walk.added.delete(from)) walk.added.add(to);
    }
  }

  /** Has as many chains as there are references: each is short, but for what one object has. */
  #fit(): void {
    this.#owners.fit(this.size, this.#relinkHeads);
    this.#places.fit(this.size, this.#relinkPlaces);
  }

  readonly #relinkHeads = (first: number): void => {
    for (let head = first; head !== none; ) {
      const next = this.#rows.get(head, of.nextHead);
      this.#linkHead(head);
      head = next;
    }
  };

  readonly #relinkPlaces = (first: number): void => {
    for (let index = first; index !== none; ) {
      const next = this.#rows.get(index, of.nextOfPlace);
      this.#linkPlace(index);
      index = next;
    }
  };
}

function hashOfPlace(log: number, at: Location): number {
  let hash = Math.imul(log, 0x9e3779b1) ^ (at % 0x1_0000_0000);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) ^ Math.floor(at / 0x1_0000_0000);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
