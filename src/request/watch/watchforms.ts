// How the events of a watch look: as stored, in another version, in protobuf, as rows of a Table or as metadata alone;
// and the bookmarks that go with them. Watchers of one look share a group, and its work.
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { Status } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { type Bookmark, BookmarkText } from "../../cache/fanout/bookmark.ts";
import type { Ahead } from "../../cache/fanout/gather.ts";
import type { Representation } from "../../cache/fanout/group.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decode, encode, encodeForStore, Fault } from "../../codec/engine/json.ts";
import { ConversionNeeded, remoteOf } from "../../kinds/remote.ts";
import { columnsOf } from "../../kinds/table.ts";
import type { FormInput } from "../answer/form.ts";
import { formWriter } from "../answer/forms.ts";
import { partialMessage } from "../answer/partial.ts";
import { messageBytes } from "../answer/protoanswer.ts";
import { protoCache } from "../answer/protocache.ts";
import { definitionsText } from "../answer/table.ts";
import { formBytes, formSource, isStoredVersion, represent, representRecord } from "../answer/toversion.ts";
import type { AnswerStream } from "../exchange/transport.ts";
import { ProtoBookmark, protoFraming } from "./protowatch.ts";

/** How events are written: lines of JSON, or frames of protobuf. */
export type WatchFormat = "json" | "protobuf";

/** How a resource's events and bookmarks look; one per resource and version, so that watchers share groups. */
export interface WatchForms {
  readonly representation: Representation;
  readonly initialEnd: Bookmark;
  /** Column definitions of a Table, which each watcher's first event carries; undefined: nothing of the kind. */
  readonly definitions: string | undefined;
}

const formsOf = new WeakMap<Resource, Map<string, WatchForms>>();

/**
 * How the events of a resource look; made once for each resource, format and form. `isCurrent`: whether the resource is
 * still defined as it is here; left out: always.
 */
export function watchForms(
  resource: Resource,
  identity: Identity,
  format: WatchFormat,
  form: FormInput | undefined,
  isCurrent?: () => boolean,
): WatchForms {
  let known = formsOf.get(resource);
  if (known === undefined) {
    known = new Map();
    formsOf.set(resource, known);
  }
  const key = keyOf(resource, format, form);
  let forms = known.get(key);
  if (forms === undefined) {
    forms = makeForms(resource, identity, format, form, key);
    if (isCurrent !== undefined) forms = lastingWith(forms, resource, isCurrent);
    known.set(key, forms);
  }
  return forms;
}

/** Looks of a resource that may come to be defined otherwise: watches of one definition share nothing with the next's. */
function lastingWith(forms: WatchForms, { definedAs = "" }: Resource, isCurrent: () => boolean): WatchForms {
  const { representation } = forms;
  return { ...forms, representation: { ...representation, key: `${representation.key} ${definedAs}`, isCurrent } };
}

function keyOf(resource: Resource, format: WatchFormat, input: FormInput | undefined): string {
  const key = `${format} ${resource.apiVersion}`;
  if (input === undefined) return key;
  const { kind, apiVersion, includeObject } = input.form;
  return `${key} ${kind} ${apiVersion} ${includeObject}`;
}

function makeForms(
  resource: Resource,
  identity: Identity,
  format: WatchFormat,
  form: FormInput | undefined,
  key: string,
): WatchForms {
  if (form !== undefined) return otherForms(form, format, key);
  return format === "json" ? jsonForms(resource, identity) : protoForms(resource, identity);
}

/** Events in another form than the objects' own: every record is written anew, once for all watchers. */
function otherForms(input: FormInput, format: WatchFormat, key: string): WatchForms {
  const { resource, identity, form } = input;
  const isTable = form.kind === "Table";
  const repeats = isTable && columnsOf(resource, identity).repeatsHeaders === true;
  const source = formWriter(input, formSource(resource));
  const converts = remoteOf(resource) !== undefined;
  const asked = formWriter(input, resource);
  const bookmark = (annotations: Map<string, string> | undefined): Bookmark => {
    const object = bookmarkObject(resource, annotations);
    if (format === "protobuf") {
      return new ProtoBookmark(partialMessage, { ...object, kind: form.kind, apiVersion: form.apiVersion });
    }
    return new FormBookmark((revision) => {
      object.metadata.resourceVersion = String(revision);
      return asked.document(encoder.encode(encode(resource.message, object)), repeats);
    });
  };
  const bytesOf = (object: Uint8Array, view: LogView, at: Location): Uint8Array => {
    if (at !== 0) return formBytes(view, at, resource, identity);
    return converts ? represent(resource, identity, object) : object;
  };
  const message = format === "protobuf" ? source.message : undefined;
  return {
    representation: {
      key,
      transform:
        message === undefined
          ? (object, view, at) => source.document(bytesOf(object, view, at), repeats)
          : (object, view, at) => message(bytesOf(object, view, at)),
      ahead: aheadOf(resource, identity),
      framing: message && protoFraming(form),
      bookmark: bookmark(undefined),
    },
    initialEnd: bookmark(initialEndMark(identity)),
    definitions: isTable && !repeats ? definitionsText(columnsOf(resource, identity)) : undefined,
  };
}

/** Has records converted by the webhook of their definition, those of a pass at once; undefined: it has none. */
function aheadOf(resource: Resource, identity: Identity): Ahead | undefined {
  const remote = remoteOf(resource);
  if (remote === undefined) return undefined;
  return (view, records) => {
    const needs: ConversionNeeded[] = [];
    for (const at of records) {
      try {
        representRecord(view, at, resource, identity);
      } catch (error) {
        if (!(error instanceof ConversionNeeded)) throw error;
        needs.push(error);
      }
    }
    // The calls are the server's own: all watchers of a record share them.
    return needs.length === 0 ? undefined : remote.ask(needs, {}).then((refused) => refused && eventStatus(refused));
  };
}

/** As upstream's watches tell of what cannot be decoded. */
function eventStatus({ code, reason, message, details }: Status): Status {
  return new Status(code, reason === "" ? "InternalError" : reason, message, details);
}

const encoder = new TextEncoder();

/** Bookmarks in another form, as lines of JSON; the bytes of one revision are made once for all watchers. */
class FormBookmark implements Bookmark {
  readonly #documentAt: (revision: number) => Uint8Array;
  #revision = -1;
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(documentAt: (revision: number) => Uint8Array) {
    this.#documentAt = documentAt;
  }

  at(revision: number): Uint8Array {
    if (revision !== this.#revision) {
      this.#revision = revision;
      const parts = [encoder.encode('{"type":"BOOKMARK","object":'), this.#documentAt(revision), encoder.encode("}\n")];
      this.#bytes = Buffer.concat(parts);
    }
    return this.#bytes;
  }
}

const noDefinitions = '"columnDefinitions":null';
/** The first event of a Table has its definitions, or none, within so many bytes. */
const definitionsWithin = 256;

/** A stream whose first event gets the column definitions the shared events of a group leave out. */
export function withDefinitions(stream: AnswerStream, definitions: string): AnswerStream {
  let begun = false;
  return {
    write: (chunk) => {
      if (begun) return stream.write(chunk);
      begun = true;
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      const at = bytes.subarray(0, definitionsWithin).indexOf(noDefinitions);
      if (at < 0) return stream.write(chunk);
      const rest = bytes.subarray(at + noDefinitions.length);
      return stream.write(
        Buffer.concat([bytes.subarray(0, at), Buffer.from(`"columnDefinitions":${definitions}`), rest]),
      );
    },
    onDrain: (drained) => stream.onDrain(drained),
    end: () => stream.end(),
    abort: () => stream.abort(),
  };
}

function jsonForms(resource: Resource, identity: Identity): WatchForms {
  const isStored = isStoredVersion(resource) && resource.redefined !== true;
  return {
    representation: {
      key: isStored ? "json" : `json ${resource.apiVersion}`,
      transform: isStored
        ? undefined
        : (object, view, at) =>
            at === 0 ? represent(resource, identity, object) : representRecord(view, at, resource, identity),
      ahead: isStored ? undefined : aheadOf(resource, identity),
      bookmark: bookmarkText(resource, undefined),
    },
    initialEnd: bookmarkText(resource, initialEndMark(identity)),
    definitions: undefined,
  };
}

/** Watchers of protobuf share the encoding of a record, whatever they select, with each other and with lists. */
function protoForms(resource: Resource, identity: Identity): WatchForms {
  const { message, apiVersion, kind } = resource;
  return {
    representation: {
      key: `protobuf ${apiVersion}`,
      transform: (object, view, at) =>
        at === 0
          ? messageBytes(message, represent(resource, identity, object))
          : protoCache.shelf(view, resource, identity).message(at),
      framing: protoFraming({ apiVersion, kind }),
      bookmark: new ProtoBookmark(message, bookmarkObject(resource, undefined)),
    },
    initialEnd: new ProtoBookmark(message, bookmarkObject(resource, initialEndMark(identity))),
    definitions: undefined,
  };
}

/** The annotation of the bookmark that ends an initial state. */
function initialEndMark(identity: Identity): Map<string, string> {
  return new Map([[identity.spell("k8s.io/initial-events-end"), "true"]]);
}

function bookmarkText(resource: Resource, annotations: Map<string, string> | undefined): BookmarkText {
  const { body, versionAt } = encodeForStore(resource.message, bookmarkObject(resource, annotations));
  return new BookmarkText(body, versionAt);
}

/** A bookmark's object: of the kind, empty but for the resource version. */
function bookmarkObject(resource: Resource, annotations: Map<string, string> | undefined): ApiObject {
  const object = decode<ApiObject>(resource.message, new Map());
  assert(!(object instanceof Fault), `An empty ${resource.kind} does not decode`);
  object.kind = resource.kind;
  object.apiVersion = resource.apiVersion;
  object.metadata ??= {};
  if (annotations !== undefined) object.metadata.annotations = annotations;
  return object;
}
