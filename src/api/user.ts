// Who makes a request, as authentication found out.

/** A user; all values are opaque to authentication and mean something to authorizers only. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}
