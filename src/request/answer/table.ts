// Objects as rows of a Table. Cells are read from as much of an object as they show, and those of a list are kept
// (rows.ts); a Table costs what decoding costs where nothing is kept, so that callers bound how much they do at once.
import type { ListMeta } from "../../api/gen/meta/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { parseTime } from "../../api/time.ts";
import { textAt } from "../../api/value.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { quote, textOf } from "../../codec/engine/json.ts";
import { readParts } from "../../codec/engine/parts.ts";
import { decodeLean, decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { ageColumn, type Cell, type Column, type Columns, elapsed, type OverParts } from "../../kinds/columns.ts";
import { convert } from "../../kinds/convert.ts";
import { remoteOf } from "../../kinds/remote.ts";
import { columnsOf, hasOwnColumns, strategyOf } from "../../kinds/table.ts";
import type { Form } from "../route/negotiate.ts";
import { type FormInput, type FormWriter, joined, joinedIn } from "./form.ts";
import { metadataCutter, metadataOffset, partialHead } from "./partial.ts";
import { type KeptRow, type RowShelf, rowShelf } from "./rows.ts";
import { represent } from "./toversion.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const nullBytes = encoder.encode("null");
const newline = 0x0a;

/** True for a document that is a Status: it keeps its form. */
export function isStatusDocument(json: Uint8Array): boolean {
  const head = '{"kind":"Status","apiVersion":"v1",';
  return decoder.decode(json.subarray(0, head.length)) === head;
}

/** The column definitions of a resource as JSON. */
export function definitionsText({ columns }: Columns): string {
  const all = columns.map(
    ({ name, type, format, description, priority }) =>
      `{"name":${quote(name)},"type":"${type}","format":"${format}","description":${quote(description)},` +
      `"priority":${priority}}`,
  );
  return `[${all.join(",")}]`;
}

/** A row up to its object, and what it carries of that. */
interface Row {
  readonly head: string;
  readonly object: Uint8Array;
  readonly version: string | undefined;
  /** What can be kept of it. */
  readonly kept?: KeptRow | undefined;
}

/** Where items of a list are put together; it grows with them, to two chunks of a list at most. */
let itemScratch = Buffer.alloc(0);

/** Writes objects as Tables. */
export class TableWriter implements FormWriter {
  readonly listType: FormWriter["listType"];
  readonly listFoot = "]}\n";
  readonly #form: Form;
  readonly #resource: Resource;
  readonly #source: Resource;
  /** The version that columns are of. */
  readonly #shown: Resource;
  readonly #identity: Identity;
  readonly #now: () => number;
  readonly #columns: Columns;
  /** Columns over parts of a document; undefined: cells are given objects. */
  readonly #overParts: OverParts | undefined;
  /** Objects come at the version that columns are of, and no webhook converts them. */
  readonly #isOwn: boolean;
  /** Which column is the age. */
  readonly #ageIndex: number;
  readonly #definitions: string;
  readonly #cut: (object: Uint8Array) => Uint8Array;
  /** Annotations carry fields, which metadata is cut without. */
  readonly #carries: boolean;
  readonly #metadataFrom: number;
  /** What stands before the object of a row, and behind it. */
  readonly #lead: string;
  readonly #foot: string;

  constructor({ form, resource, identity, now }: FormInput, source: Resource) {
    this.listType = { kind: form.kind, apiVersion: form.apiVersion };
    this.#form = form;
    this.#resource = resource;
    this.#source = source;
    // Columns of custom resources are a version's own.
    this.#shown = resource.provided === true ? resource : (source.stored ?? source);
    this.#identity = identity;
    this.#now = now;
    this.#isOwn = source === this.#shown && remoteOf(source) === undefined;
    this.#columns = columnsOf(resource, identity);
    this.#overParts = this.#isOwn ? this.#columns.overParts : undefined;
    this.#ageIndex = this.#columns.columns.indexOf(ageColumn);
    this.#definitions = definitionsText(this.#columns);
    this.#cut = metadataCutter(source, identity);
    this.#carries = strategyOf(source, identity).carriers !== undefined;
    this.#metadataFrom = metadataOffset(source);
    this.#lead = `,"object":${form.includeObject === "Metadata" ? partialHead(form) : ""}`;
    this.#foot = form.includeObject === "Metadata" ? "}}" : "}";
  }

  listHead(metadata: ListMeta): string {
    return this.#head(metadata, true);
  }

  listOfNone(metadata: ListMeta): string {
    return `${this.#top(metadata, true)}${hasOwnColumns(this.#resource, this.#identity) ? "[]" : "null"}}\n`;
  }

  item(bytes: Uint8Array): Uint8Array {
    const { head, object } = this.#row(bytes);
    return joined(head, object, this.#foot);
  }

  records(view: RecordSource): ((at: Location) => Uint8Array) | undefined {
    // Definitions change columns, and what objects they have become.
    if (!this.#isOwn || this.#source.provided === true || this.#carries) return undefined;
    const shelf = rowShelf(view, this.#source);
    return (at) => this.#record(shelf, at);
  }

  document(bytes: Uint8Array, headed: boolean): Uint8Array {
    const { head, object, version } = this.#row(bytes);
    const metadata = version === undefined ? {} : { resourceVersion: version };
    return joined(this.#head(metadata, headed) + head, object, `${this.#foot}]}`);
  }

  #top(metadata: ListMeta, headed: boolean): string {
    return (
      `{"kind":"Table","apiVersion":"${this.#form.apiVersion}","metadata":${JSON.stringify(metadata)},` +
      `"columnDefinitions":${headed ? this.#definitions : "null"},"rows":`
    );
  }

  #head(metadata: ListMeta, headed: boolean): string {
    return `${this.#top(metadata, headed)}[`;
  }

  #record(shelf: RowShelf, at: Location): Uint8Array {
    const bytes = shelf.view.object(at);
    const kept = shelf.get(at);
    const row = kept === undefined ? this.#row(bytes) : this.#again(kept, bytes);
    if (row.kept !== undefined) shelf.add(at, row.kept);
    // Three bytes at most for a character.
    const needed = row.head.length * 3 + row.object.length + this.#foot.length;
    if (needed > limits.listChunkBytes) return joined(row.head, row.object, this.#foot);
    if (itemScratch.length < needed) itemScratch = Buffer.allocUnsafeSlow(2 * needed);
    return joinedIn(itemScratch, row.head, row.object, this.#foot);
  }

  /** The row of an object of which this was kept. */
  #again({ before, created, after, metadataEnd }: KeptRow, bytes: Uint8Array): Row {
    const age = created === undefined ? "" : cellText(elapsed(this.#now() - created));
    return { head: before + age + after + this.#lead, object: this.#carried(bytes, metadataEnd), version: undefined };
  }

  #row(bytes: Uint8Array): Row {
    const json = textOf(bytes);
    const partial = this.#rowOfParts(bytes, json);
    if (partial !== undefined) return partial;
    const [source, shown] = [this.#source, this.#shown];
    // No cell shows who manages what, and those of many kinds little else.
    const lean = decodeLean(source, json, source === shown ? this.#columns.reads : undefined);
    const object = convert(lean?.object ?? decodeStored(source, bytes), source, shown, this.#identity);
    const { texts, changes } = this.#cells(this.#columns.columns, object);
    const conditions = this.#columns.conditions?.(object) ?? [];
    const marks = conditions.length === 0 ? "" : `,"conditions":${JSON.stringify(conditions)}`;
    const metadataEnd = bytesTo(json, lean?.metadataEnd ?? 0, bytes);
    const { creationTimestamp, resourceVersion: version } = object.metadata;
    const created = parseTime(creationTimestamp ?? "");
    const row = {
      head: `{"cells":[${texts.join(",")}]${marks}${this.#lead}`,
      object: this.#carried(bytes, metadataEnd),
    };
    if (changes || metadataEnd === 0 || created === undefined) return { ...row, version };
    return { ...row, version, kept: this.#keep(texts, marks, created, metadataEnd) };
  }

  /** The row of an object whose columns are over parts of its document. */
  #rowOfParts(bytes: Uint8Array, json: string): Row | undefined {
    const overParts = this.#overParts;
    const read = overParts && readParts(json, overParts.parts);
    if (overParts === undefined || read === undefined) return undefined;
    const { texts } = this.#cells(overParts.columns, read.document);
    const version = textAt(read.document.get("metadata"), "resourceVersion");
    const object = this.#carried(bytes, bytesTo(json, read.metadataEnd, bytes));
    return { head: `{"cells":[${texts.join(",")}]${this.#lead}`, object, version };
  }

  /** Cells as JSON; `changes`: one that is not the age is another one at another time. */
  #cells<T>(columns: readonly Column<T>[], object: T): { readonly texts: string[]; readonly changes: boolean } {
    let changes = false;
    const at = this.#now();
    const age = (): number => at;
    const asked = (): number => {
      changes = true;
      return at;
    };
    const texts = columns.map(({ cell }, index) => cellText(cell(object, index === this.#ageIndex ? age : asked)));
    return { texts, changes };
  }

  #keep(texts: readonly string[], marks: string, created: number, metadataEnd: number): KeptRow {
    const at = this.#ageIndex;
    if (at < 0) return { before: `{"cells":[${texts.join(",")}]${marks}`, created: undefined, after: "", metadataEnd };
    const [before, after] = [texts.slice(0, at), texts.slice(at + 1)].map((some) => some.join(","));
    return {
      before: `{"cells":[${before}${at > 0 ? "," : ""}`,
      created,
      after: `${at + 1 < texts.length ? "," : ""}${after}]${marks}`,
      metadataEnd,
    };
  }

  /** What of the object a row carries; `metadataEnd`: where its metadata ends, 0 where that is not known. */
  #carried(object: Uint8Array, metadataEnd: number): Uint8Array {
    switch (this.#form.includeObject) {
      case "None":
        return nullBytes;
      case "Object":
        return trimmedEnd(this.#source === this.#resource ? object : represent(this.#resource, this.#identity, object));
      default:
        if (metadataEnd === 0 || this.#carries) return this.#cut(object);
        return object.subarray(this.#metadataFrom, metadataEnd);
    }
  }
}

/** Where a place of a text is in its bytes. */
function bytesTo(text: string, end: number, bytes: Uint8Array): number {
  // Where every character is one byte, offsets are those of bytes.
  return text.length === bytes.length ? end : Buffer.byteLength(text.slice(0, end));
}

function trimmedEnd(json: Uint8Array): Uint8Array {
  return json.at(-1) === newline ? json.subarray(0, -1) : json;
}

function cellText(cell: Cell): string {
  return typeof cell === "string" ? quote(cell) : String(cell);
}
