// A task of the pool is one value in a file of its own: its name, and its work. Callers hand the value to Pool.run(),
// which types what goes in and comes out; the thread finds the work by the name, in the table of its script.
import type { IdentityName } from "../api/identity.ts";
import type { Scheme } from "../api/scheme.ts";

/** What threads are told at their start: what their scheme is made of. */
export interface PoolSetup {
  readonly identity: IdentityName;
  readonly runtimeConfig: ReadonlyMap<string, boolean>;
  readonly gates: ReadonlySet<string>;
  /** Minor version of the release that is emulated. */
  readonly release: number;
}

/** What tasks work with on their thread. */
export interface TaskContext {
  /** As on the front that asks. */
  readonly scheme: Scheme;
}

/** A kind of task. Input and output are copied or handed over between threads: plain data and bytes. */
export interface Task<Input, Output extends object, Context = TaskContext> {
  /** No other task of a script has it. */
  readonly name: string;
  /** What a thread does; what it throws fails the task and leaves the thread. */
  readonly work: (input: Input, context: Context) => Output | Promise<Output>;
}

/** What a thread is sent. */
export interface Order {
  /** Of the caller. */
  readonly id: number;
  /** Name of the task. */
  readonly task: string;
  readonly input: unknown;
}

/** What a thread answers. */
export type Answer = { readonly output: object } | { readonly output?: undefined; readonly error: unknown };
