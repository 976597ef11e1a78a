// What stands behind the selection table of an object that has owners, or that waits for its dependents to be deleted: as
// much as the garbage collector needs to keep its graph without decoding objects. Other objects have nothing there, and a
// reader of selections never looks at it.
//
//   ┌───────┬──────┬──────┬─────┬─────────┐
//   │ state │ owner│ owner│  …  │  names  │   from the first multiple of 4 after the table
//   └───────┴──────┴──────┴─────┴─────────┘
//   state   i32  number of owners, and flags from bit 28 on
//   owner   i32  0 hash of apiVersion, a space, kind   1 hash of the name   2 hash of the uid
//                3 end of its name (byte of what stands behind the table), times 2, plus 1 where it blocks its owner
//   names   UTF-8, zero padding to a multiple of 4
//
// Hashes are those of selection tables. They choose what is looked at; what is looked at is read from the object itself.
import { foregroundFinalizer, type ObjectMeta, orphanFinalizer } from "../../api/object.ts";
import { assertShared } from "../../base/assert.ts";
import { hashOfText, tableEnd } from "./selection.ts";

const ownerWords = 4;
const countMask = 0x0fff_ffff;
const deletedFlag = 1 << 28;
const foregroundFlag = 1 << 29;
const orphanFlag = 1 << 30;

/** Hash of an owner's apiVersion and kind. */
export function kindHash(apiVersion: string, kind: string): number {
  return hashOfText(kind, hashOfText(" ", hashOfText(apiVersion)));
}

/** A selection table with what is to stand behind it: the same bytes for most objects. */
export function withOwners(table: Uint8Array, meta: OwnedMeta): Uint8Array {
  const owners = meta.ownerReferences ?? [];
  const state = owners.length | flagsOf(meta);
  // That an object is being deleted says nothing where it has no owner and waits for no other object.
  if (state === 0 || state === deletedFlag) return table;
  const start = tableEnd(table);
  const names = 4 + owners.length * ownerWords * 4;
  const units = owners.reduce((sum, { name }) => sum + name.length, 0);
  const bytes = Buffer.alloc(start + ((names + units * 3 + 3) & ~3));
  bytes.set(table.subarray(0, start));
  bytes.writeInt32LE(state, start);
  let at = start + 4;
  let end = start + names;
  for (const { apiVersion, kind, name, uid, blockOwnerDeletion } of owners) {
    end += bytes.write(name, end, "utf8");
    bytes.writeInt32LE(kindHash(apiVersion, kind), at);
    bytes.writeInt32LE(hashOfText(name), at + 4);
    bytes.writeInt32LE(hashOfText(uid), at + 8);
    bytes.writeInt32LE((end - start) * 2 + (blockOwnerDeletion === true ? 1 : 0), at + 12);
    at += ownerWords * 4;
  }
  return bytes.subarray(0, (end + 3) & ~3);
}

/** What of an object's metadata is looked at. */
export type OwnedMeta = Pick<ObjectMeta, "ownerReferences" | "deletionTimestamp" | "finalizers">;

function flagsOf({ deletionTimestamp, finalizers }: OwnedMeta): number {
  if (deletionTimestamp === undefined) return 0;
  const isForeground = finalizers?.includes(foregroundFinalizer) === true;
  const isOrphan = finalizers?.includes(orphanFinalizer) === true;
  return deletedFlag | (isForeground ? foregroundFlag : 0) | (isOrphan ? orphanFlag : 0);
}

/** What stands behind a table; undefined for most objects. Reads the table's memory, which may be shared. */
export function ownersBehind(table: Uint8Array): Owners | undefined {
  const start = tableEnd(table);
  return start + 4 > table.byteLength ? undefined : new Owners(table, start);
}

/** Owners of one object, numbered from 0, and what its deletion waits for. */
export class Owners {
  readonly #bytes: Buffer;
  readonly #state: number;

  constructor(table: Uint8Array, start: number) {
    this.#bytes = Buffer.from(table.buffer, table.byteOffset + start, table.byteLength - start);
    this.#state = this.#bytes.readInt32LE(0);
    assertShared(4 + this.count * ownerWords * 4 <= this.#bytes.length, "The owners behind a table end beyond it");
  }

  get count(): number {
    return this.#state & countMask;
  }

  /** The object is being deleted. Told of objects that have owners or wait for their dependents. */
  get isDeleted(): boolean {
    return (this.#state & deletedFlag) !== 0;
  }

  /** The object is being deleted and waits for its dependents to go. */
  get isForeground(): boolean {
    return (this.#state & foregroundFlag) !== 0;
  }

  /** The object is being deleted and waits for its dependents to lose their reference to it. */
  get isOrphaning(): boolean {
    return (this.#state & orphanFlag) !== 0;
  }

  kindHash(index: number): number {
    return this.#word(index, 0);
  }

  nameHash(index: number): number {
    return this.#word(index, 1);
  }

  uidHash(index: number): number {
    return this.#word(index, 2);
  }

  /** Whether the owner's foreground deletion waits for this object. */
  blocks(index: number): boolean {
    return (this.#word(index, 3) & 1) === 1;
  }

  name(index: number): string {
    const start = index === 0 ? 4 + this.count * ownerWords * 4 : this.#word(index - 1, 3) >>> 1;
    return this.#bytes.toString("utf8", start, this.#word(index, 3) >>> 1);
  }

  #word(index: number, word: number): number {
    return this.#bytes.readInt32LE(4 + (index * ownerWords + word) * 4);
  }
}
