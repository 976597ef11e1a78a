// Reasons to reject a change that all engines share: its key, its size, and the state of its key.
import { assertShared } from "../base/assert.ts";
import { limits } from "../config/limits.ts";
import { type Change, changeTypes, type Guard, type Mismatch, type Refusal, type Unguarded } from "./store.ts";

/** The state of a key. */
export interface Current {
  readonly mod: number;
  /** 0: there is no object; `mod` is its delete, or 0. */
  readonly create: number;
}

/** Why a change cannot be made to a key in state `current`; undefined when it can. `key`: the key in UTF-8. */
export function checkChange(change: Change, key: Buffer, current: Current): Mismatch | Refusal | undefined {
  assertShared(
    (change.type === changeTypes.create) === (change.expected === 0),
    `Type ${change.type} expects ${change.expected}`,
  );
  assertShared(current.create <= current.mod, `A key created at ${current.create} was changed at ${current.mod}`);
  if (!change.key.startsWith(`${change.prefix}/`) || key.toString() !== change.key) {
    return {
      refused: "invalid-key",
      message: `Key ${JSON.stringify(change.key.slice(0, 256))} is not text below ${change.prefix}`,
    };
  }
  const size = key.length + change.body.length;
  const grows = change.type !== changeTypes.delete;
  if (grows && size > limits.objectBytesMax) {
    return { refused: "too-large", message: `Object of ${size} bytes is larger than ${limits.objectBytesMax} bytes` };
  }
  const actual = modOf(current);
  if (change.expected !== actual) return { actual };
  return undefined;
}

/** Why a change with this guard cannot be made while the guard's key is in state `current`; undefined when it can. */
export function checkGuard(guard: Guard, current: Current): Unguarded | undefined {
  const guarded = modOf(current);
  return guarded === guard.revision ? undefined : { guarded };
}

/** The mod revision of a key; 0 when there is no object. */
function modOf({ create, mod }: Current): number {
  return create === 0 ? 0 : mod;
}
