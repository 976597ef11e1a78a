// Evaluates a selector against a record's selection side-table.
import type { Selector } from "../api/selector.ts";
import { unreachable } from "../base/assert.ts";
import type { Location, LogView } from "./view.ts";

/** A selector compiled for records: call it with a location of `view`. Undefined when everything matches. */
export type Match = (view: LogView, at: Location) => boolean;

/** Compiles a selector. */
export function compileSelector(_selector: Selector): Match | undefined {
  return unreachable("Not built yet");
}
