// The task that merges: from the bytes of a request and of what is stored to the bytes of an object with its field
// managers, by the functions a front uses.
import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { Registry } from "../../api/registry.ts";
import type { Scheme } from "../../api/scheme.ts";
import { isStatus, type Status, type StatusDetails } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { Recent } from "../../base/recent.ts";
import { encode, textOf } from "../../codec/engine/json.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { sharesLabels } from "../../kinds/batch/joblabels.ts";
import { resourcesOf } from "../../kinds/custom/definition.ts";
import { definitionsKind } from "../../kinds/custom/prefix.ts";
import { noTrace } from "../../observe/trace.ts";
import type { Task } from "../../pool/task.ts";
import { type FieldReport, fieldReportOf, readSent } from "../body/body.ts";
import { requestedObject, StoredObject } from "../commit/objectstore.ts";
import type { MergeRequest, Merging } from "../commit/writerequest.ts";
import { unknownResource } from "../route/info.ts";
import { mergeHere, mergeOf } from "./merge.ts";

/** A write as far as its merge goes. */
export interface MergeInput {
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
  /** See StoredObject. */
  readonly isOutdated: boolean;
  /** Of a custom resource: its definition as it is stored, and what it is known by. */
  readonly definition: Uint8Array | undefined;
  readonly definedAs: string;
}

/** A refusal, without what only the log may see. */
export interface MergeRefusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details: StatusDetails | undefined;
}

/** What came of it. */
export type MergeOutput =
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

const encoder = new TextEncoder();

/** Merges a write that is big. */
export const mergeTask: Task<MergeInput, MergeOutput> = {
  name: "merge",
  work: (input, { scheme }) => runMerge(scheme, input),
};

function runMerge(builtIn: Scheme, task: MergeInput): MergeOutput {
  const { definition, definedAs } = task;
  const scheme = definition === undefined ? builtIn : schemeWith(builtIn, definedAs, definition);
  const resource = scheme.find(task.group, task.version, task.resource);
  const { kind, format, force, body, subresource, namespace, name, manager, nowMs } = task;
  const fields = fieldReportOf(task.validation);
  // A definition may have changed on its way here.
  if (resource === undefined && definition !== undefined) return refusal(unknownResource, fields);
  assert(resource !== undefined, `Front and pool differ about ${task.resource}`);
  const sent = { kind, format, force, bytes: body };
  const request: MergeRequest = { resource, subresource, namespace, name, manager, sent, fields, trace: noTrace };
  const merging: Merging = { scheme, clock: { now: () => nowMs, monotonic: () => performance.now() } };
  const read = readSent(scheme, resource, sent, fields);
  if (isStatus(read)) return refusal(read, fields);
  const current = task.current === undefined ? undefined : new StoredObject(textOf(task.current), task.isOutdated);
  const old = current === undefined ? undefined : requestedObject(merging, resource, current);
  const warnings: string[] = [];
  const object = mergeHere(merging, request, mergeOf(merging, request, read), current, old, warnings);
  if (isStatus(object)) return refusal(object, fields);
  const bytes = encoder.encode(encode(resource.message, object));
  return { object: bytes, sharesLabels: sharesLabels(object), warnings, fieldWarnings: fields?.warnings ?? [] };
}

/** What definitions serve, of those this thread was handed lately. */
const schemes = new Recent<string, { readonly bytes: number; readonly scheme: Scheme }>(
  limits.poolDefinitionsBytesMax,
  (_key, { bytes }) => bytes,
);

/** The built-in kinds and those of one definition. */
function schemeWith(builtIn: Scheme, definedAs: string, definition: Uint8Array): Scheme {
  const known = schemes.get(definedAs);
  if (known !== undefined) return known.scheme;
  const [group, version, plural] = definitionsKind;
  const stored = builtIn.find(builtIn.identity.spell(group), version, plural)?.stored;
  assert(stored !== undefined, "Definitions are served");
  const registry = new Registry(builtIn);
  const decoded = decodeStored(stored, definition) as ApiObject & CustomResourceDefinition;
  registry.provide(decoded.metadata.name ?? "", resourcesOf(decoded, builtIn.identity));
  const scheme = registry.current();
  schemes.set(definedAs, { bytes: definition.length, scheme });
  return scheme;
}

function refusal({ code, reason, message, details }: Status, fields: FieldReport | undefined): MergeOutput {
  return { refusal: { code, reason, message, details }, fieldWarnings: fields?.warnings ?? [] };
}
