// Objects of a kind, decoded, for the parts of the server that ask the same few again and again: roles and bindings,
// quotas, classes, webhook configurations, service accounts. A table follows its log on demand and decodes each
// requested object once per change. Objects of a table must not be changed.
import type { ApiObject } from "../../api/object.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import { copyOf } from "../../base/copy.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { recordTypes } from "../shared/record.ts";
import { eachChange } from "./changes.ts";
import type { LogView, Views } from "./view.ts";

/** Called with a key whose object was created, changed or deleted. */
export type ObjectNews = (namespace: string, name: string) => void;

/** Reads an object out of its stored bytes, or as much of it as is needed; undefined: nothing of it is. */
export type ReadStored = (stored: Resource, bytes: Uint8Array) => ApiObject | undefined;

/** All objects of one kind as they are now, at the version they are stored in. */
export class ObjectTable<T extends ApiObject> {
  /** Undefined: the kind is not served, and there are none. */
  readonly #view: LogView | undefined;
  readonly #stored: Resource | undefined;
  readonly #decode: ReadStored;
  /** By namespace and name; undefined: not asked for since it changed. */
  readonly #objects = new Map<string, Map<string, T | undefined>>();
  readonly #listeners: ObjectNews[] = [];
  #position: number | undefined;
  #version = 0;

  constructor(view: LogView | undefined, stored: Resource | undefined, decode: ReadStored = decodeStored) {
    this.#view = view;
    this.#stored = stored;
    this.#decode = decode;
  }

  /**
   * Takes in every change that was acknowledged before the call. The number it returns grows whenever something
   * changed: values derived from the table are valid while it is the same.
   */
  refresh(): number {
    const view = this.#view;
    if (view === undefined) return this.#version;
    view.drain();
    const { head } = view;
    if (this.#position === head) return this.#version;
    if (this.#position === undefined || !this.#follow(view, this.#position)) this.#rebuild(view);
    this.#position = head;
    this.#version += 1;
    return this.#version;
  }

  /** One object; undefined when there is none. */
  get(namespace: string, name: string): T | undefined {
    this.refresh();
    return this.#read(namespace, name);
  }

  /** Whether there are objects in one namespace (empty: of a cluster-scoped kind). */
  has(namespace: string): boolean {
    this.refresh();
    return this.#objects.has(namespace);
  }

  /** The objects of one namespace (empty: of a cluster-scoped kind), in no order. */
  list(namespace: string): T[] {
    this.refresh();
    return this.#readAll(namespace);
  }

  /** The objects of all namespaces, in no order. */
  all(): T[] {
    this.refresh();
    return [...this.#objects.keys()].flatMap((namespace) => this.#readAll(namespace));
  }

  /**
   * Calls `news` from within refresh() for every key that changed. Objects are to be asked for after refresh(), not
   * in the call.
   */
  onChange(news: ObjectNews): void {
    this.#listeners.push(news);
  }

  /**
   * One object, decoded for this call and not kept: for objects that are large and looked at once. Takes in nothing, so that
   * it may be called from what is asked while the table is looked up. `decode`: in place of the table's own.
   */
  peek(namespace: string, name: string, decode: ReadStored = this.#decode): T | undefined {
    const at = this.#view?.get(namespace, name) ?? 0;
    if (at === 0 || this.#view === undefined || this.#stored === undefined) return undefined;
    return decode(this.#stored, this.#view.object(at)) as T | undefined;
  }

  /** A copy of the bytes of one object; undefined when there is none. Takes in nothing. */
  bytes(namespace: string, name: string): Uint8Array | undefined {
    const at = this.#view?.get(namespace, name) ?? 0;
    return at === 0 || this.#view === undefined ? undefined : copyOf(this.#view.object(at));
  }

  /** The objects of one namespace, as of the last refresh(). */
  #readAll(namespace: string): T[] {
    const found: T[] = [];
    for (const name of this.#objects.get(namespace)?.keys() ?? []) {
      const object = this.#read(namespace, name);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  #read(namespace: string, name: string): T | undefined {
    const objects = this.#objects.get(namespace);
    if (objects?.has(name) !== true) return undefined;
    const known = objects.get(name);
    if (known !== undefined) return known;
    const at = this.#view?.get(namespace, name) ?? 0;
    if (at === 0 || this.#view === undefined || this.#stored === undefined) return undefined;
    const object = this.#decode(this.#stored, this.#view.object(at)) as T | undefined;
    objects.set(name, object);
    return object;
  }

  /** Takes in changes from a position on; false when some were recycled. */
  #follow(view: LogView, from: number): boolean {
    return eachChange(view, from, (at, type) => {
      const [namespace, name] = this.#split(view.keyOf(at));
      if (type === recordTypes.delete) this.#remove(namespace, name);
      else this.#put(namespace, name);
      for (const news of this.#listeners) news(namespace, name);
    });
  }

  #rebuild(view: LogView): void {
    const before = [...this.#objects].flatMap(([namespace, objects]) =>
      [...objects.keys()].map((name) => [namespace, name] as const),
    );
    this.#objects.clear();
    view.scan("", "", 0, (_at, key) => {
      const [namespace, name] = this.#split(key);
      this.#put(namespace, name);
      for (const news of this.#listeners) news(namespace, name);
      return true;
    });
    for (const [namespace, name] of before) {
      if (this.#objects.get(namespace)?.has(name) === true) continue;
      for (const news of this.#listeners) news(namespace, name);
    }
  }

  #split(key: string): readonly [namespace: string, name: string] {
    if (this.#stored?.namespaced !== true) return ["", key];
    const slash = key.indexOf("/");
    return [key.slice(0, slash), key.slice(slash + 1)];
  }

  #put(namespace: string, name: string): void {
    const objects = this.#objects.get(namespace);
    if (objects === undefined) this.#objects.set(namespace, new Map([[name, undefined]]));
    else objects.set(name, undefined);
  }

  #remove(namespace: string, name: string): void {
    const objects = this.#objects.get(namespace);
    if (objects?.delete(name) === true && objects.size === 0) this.#objects.delete(namespace);
  }
}

/** A value computed from a whole table, recomputed only after a change. */
export function derived<T extends ApiObject, R>(table: ObjectTable<T>, compute: (objects: readonly T[]) => R): () => R {
  let version = -1;
  let result: R;
  return () => {
    const now = table.refresh();
    if (now !== version) result = compute(table.all());
    version = now;
    return result;
  };
}

/** How a front's plugins read objects: one table per kind that is read whole, single reads of the others. */
export class Objects {
  readonly #scheme: Scheme;
  readonly #views: Views;
  /** By prefix; empty: the kinds that are not served. */
  readonly #tables = new Map<string, ObjectTable<ApiObject>>();
  /** Of objects that are read in part, by what reads them; it knows its kind. */
  readonly #partial = new Map<ReadStored, ObjectTable<ApiObject>>();

  constructor(scheme: Scheme, views: Views) {
    this.#scheme = scheme;
    this.#views = views;
  }

  /** The table of a kind, for kinds with few objects; `group` in canonical spelling, any served version of it. */
  table<T extends ApiObject>(group: string, version: string, resource: string): ObjectTable<T> {
    const stored = this.#storedOf(group, version, resource);
    const key = stored?.prefix ?? "";
    let table = this.#tables.get(key);
    if (table === undefined) {
      table = new ObjectTable(this.#viewOf(stored), stored);
      this.#tables.set(key, table);
    }
    return table as ObjectTable<T>;
  }

  /** A table of a kind whose objects are read by `decode`, which leaves out what is large and not asked for. */
  partialTable<T extends ApiObject>(
    decode: ReadStored,
    group: string,
    version: string,
    resource: string,
  ): ObjectTable<T> {
    let table = this.#partial.get(decode);
    if (table === undefined) {
      const stored = this.#storedOf(group, version, resource);
      table = new ObjectTable(this.#viewOf(stored), stored, decode);
      this.#partial.set(decode, table);
    }
    return table as ObjectTable<T>;
  }

  /** One object of any kind as it is now, decoded for this call; undefined when there is none. */
  read<T extends ApiObject>(
    group: string,
    version: string,
    resource: string,
    namespace: string,
    name: string,
  ): T | undefined {
    const stored = this.#storedOf(group, version, resource);
    const view = this.#viewOf(stored);
    view?.drain();
    const at = view?.get(namespace, name) ?? 0;
    return view === undefined || stored === undefined || at === 0
      ? undefined
      : (decodeStored(stored, view.object(at)) as T);
  }

  /** The log of a kind, to look at records without decoding them; undefined: the kind is not served. */
  view(group: string, version: string, resource: string): LogView | undefined {
    return this.#viewOf(this.#storedOf(group, version, resource));
  }

  #viewOf(stored: Resource | undefined): LogView | undefined {
    return stored?.prefix === undefined ? undefined : this.#views.log(stored.prefix);
  }

  #storedOf(group: string, version: string, resource: string): Resource | undefined {
    return this.#scheme.find(group === "" ? "" : this.#scheme.identity.spell(group), version, resource)?.stored;
  }
}
