// A pool thread's side of a merge: from the bytes of a task to the bytes of a result, by the functions a front uses.
import { identities } from "../../api/identity.ts";
import { createScheme, type Scheme } from "../../api/scheme.ts";
import { isStatus, type Status } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { encode, textOf } from "../../codec/engine/json.ts";
import { sharesLabels } from "../../kinds/batch/joblabels.ts";
import { noTrace } from "../../observe/trace.ts";
import type { MergeResult, MergeSetup, MergeTask } from "../../pool/tasks.ts";
import { type FieldReport, fieldReportOf, readSent } from "../body/body.ts";
import { requestedObject, StoredObject } from "../commit/objectstore.ts";
import type { MergeRequest, Merging } from "../commit/writerequest.ts";
import { mergeHere, mergeOf } from "./merge.ts";

const encoder = new TextEncoder();

/** What a thread does with its tasks. */
export function openMerge({ identity, runtimeConfig, gates, release }: MergeSetup): (task: MergeTask) => MergeResult {
  const scheme = createScheme({ identity: identities[identity], runtimeConfig, gates, release });
  return (task) => runMerge(scheme, task);
}

function runMerge(scheme: Scheme, task: MergeTask): MergeResult {
  const resource = scheme.find(task.group, task.version, task.resource);
  assert(resource !== undefined, `Front and pool differ about ${task.resource}`);
  const { kind, format, force, body, subresource, namespace, name, manager, nowMs } = task;
  const fields = fieldReportOf(task.validation);
  const sent = { kind, format, force, bytes: body };
  const request: MergeRequest = { resource, subresource, namespace, name, manager, sent, fields, trace: noTrace };
  const merging: Merging = { scheme, clock: { now: () => nowMs, monotonic: () => performance.now() } };
  const read = readSent(scheme, resource, sent, fields);
  if (isStatus(read)) return refusal(read, fields);
  const current = task.current === undefined ? undefined : new StoredObject(textOf(task.current));
  const old = current === undefined ? undefined : requestedObject(merging, resource, current);
  const warnings: string[] = [];
  const object = mergeHere(merging, request, mergeOf(merging, request, read), current, old, warnings);
  if (isStatus(object)) return refusal(object, fields);
  const bytes = encoder.encode(encode(resource.message, object));
  return { object: bytes, sharesLabels: sharesLabels(object), warnings, fieldWarnings: fields?.warnings ?? [] };
}

function refusal({ code, reason, message, details }: Status, fields: FieldReport | undefined): MergeResult {
  return { refusal: { code, reason, message, details }, fieldWarnings: fields?.warnings ?? [] };
}
