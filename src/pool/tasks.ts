// What pool threads are asked and what they answer. Everything here is copied or handed over between threads: plain data
// and bytes, no instances of classes.
import type { IdentityName } from "../api/identity.ts";
import type { StatusDetails } from "../api/status.ts";

/** What a pool thread knows from its start: what its scheme is made of. */
export interface MergeSetup {
  readonly identity: IdentityName;
  readonly runtimeConfig: ReadonlyMap<string, boolean>;
  readonly gates: ReadonlySet<string>;
  /** Minor version of the release that is emulated. */
  readonly release: number;
}

/** A write as far as its merge goes: from the bytes of a request to an object with its field managers. */
export interface MergeTask {
  readonly group: string;
  readonly version: string;
  /** Plural. */
  readonly resource: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The field manager. */
  readonly manager: string;
  readonly kind: "create" | "update" | "json" | "merge" | "strategic" | "apply";
  /** What a create or an update is written in. */
  readonly format: "json" | "yaml" | "protobuf";
  /** Of an apply. */
  readonly force: boolean;
  /** What to do about unknown and duplicate fields; empty: nothing. */
  readonly validation: "" | "Warn" | "Strict";
  /** The wall clock, in milliseconds. */
  readonly nowMs: number;
  /** The request's body. */
  readonly body: Uint8Array;
  /** The object as it is stored; undefined: there is none. */
  readonly current: Uint8Array | undefined;
}

/** An answer as far as its format goes: from JSON of ours to the bytes a client asked for. */
export interface PrintTask {
  readonly kind: "print";
  readonly format: "protobuf" | "yaml" | "pretty";
  /** What the JSON is of, by the name of its message. */
  readonly message: string;
  readonly body: Uint8Array;
}

/** What a thread of the pool does. */
export type PoolTask = MergeTask | PrintTask;

/** What came of an answer. */
export interface PrintResult {
  readonly printed: Uint8Array;
}

/** A refusal, without what only the log may see. */
export interface MergeRefusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details: StatusDetails | undefined;
}

/** What came of it. */
export type MergeResult =
  | { readonly refusal: MergeRefusal; readonly fieldWarnings: readonly string[] }
  | {
      readonly refusal?: undefined;
      /** JSON at the version of the request, as encode() writes it. */
      readonly object: Uint8Array;
      /** See kinds/joblabels.ts. */
      readonly sharesLabels: boolean;
      readonly warnings: readonly string[];
      /** About fields of the body; of a refused write as well. */
      readonly fieldWarnings: readonly string[];
    };
