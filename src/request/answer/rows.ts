// Rows of Tables that lists asked for before: their cells are read from an object once per front, and kept as text
// (recordcache.ts). The age of an object is put in each time; a row with another cell that changes with time is not kept.
import type { Resource } from "../../api/scheme.ts";
import { flatText } from "../../base/flattext.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import { RecordCache, RecordShelf, Shelves } from "./recordcache.ts";

/** What is kept of a row. */
export interface KeptRow {
  /** Its cells as JSON, up to the one that shows its age. */
  readonly before: string;
  /** When the object was created, in milliseconds; undefined: nothing of the row changes, and all of it is `before`. */
  readonly created: number | undefined;
  /** Cells behind the age, and marks. */
  readonly after: string;
  /** Where the metadata of the object ends, in bytes. */
  readonly metadataEnd: number;
}

/** What a row costs besides its texts. */
const overheadBytes = 250;

/** Rows of the records of one log. */
export class RowShelf extends RecordShelf<KeptRow> {
  /** Keeps a row, if there is room. */
  add(at: Location, row: KeptRow): void {
    const [before, after] = [flatText(row.before), flatText(row.after)];
    // Two bytes at most for a character.
    this.keep(at, { ...row, before, after }, overheadBytes + 2 * (before.length + after.length));
  }
}

const rows = new RecordCache<KeptRow>(limits.rowCacheBytesMax, Math.random);
const shelves = new Shelves<RowShelf>();

/** The rows of a log on this front, of a resource at its stored version. */
export function rowShelf(view: RecordSource, resource: Resource): RowShelf {
  return shelves.of(view, resource, () => new RowShelf(rows, view));
}
