// The discovery documents, built from the scheme once and served as bytes.
import { unreachable } from "../base/assert.ts";
import type { Scheme } from "./scheme.ts";

/** One document with its strong ETag (quotes included). */
export interface Document {
  readonly body: string;
  readonly etag: string;
}

/** The discovery document at a path (`/api`, `/apis`, `/api/v1`, `/apis/<group>`, `/apis/<group>/<version>`); undefined: none there. */
export function discoveryDocument(_scheme: Scheme, _path: string, _serverAddress: string): Document | undefined {
  return unreachable("Not built yet");
}
