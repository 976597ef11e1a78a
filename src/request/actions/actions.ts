// POSTs that do something instead of storing what was sent: binding a pod to a node, evicting it, signing or reviewing a
// token. Each answers a Status, or the object that was sent with what came of it.

import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Status } from "../../api/status.ts";
import { Fault } from "../../codec/engine/json.ts";
import { type Body, readBody, readTyped } from "../body/body.ts";
import type { FieldReport } from "../body/fieldvalidation.ts";
import type { WriteRequest, WriteServices, Written } from "../commit/writerequest.ts";
import type { ResourceInfo } from "../route/info.ts";
import type { BodyFormat } from "../route/negotiate.ts";
import { bindPod } from "./binding.ts";
import { evictPod } from "./eviction.ts";
import { shapeOf } from "./scale.ts";
import { requestToken } from "./tokenrequest.ts";
import { reviewToken } from "./tokenreview.ts";

/** Does what a body says to the object a request names; a name that is not in the path is taken from the body. */
export type Action = (writers: WriteServices, request: WriteRequest, body: ApiObject) => Promise<Written | Status>;

/** Resources by the first label of their group, subresources (empty: the resource itself), and what a POST does there. */
const table: readonly (readonly [group: string, resource: string, subresource: string, act: Action])[] = [
  ["", "bindings", "", bindPod],
  ["", "pods", "binding", bindPod],
  ["", "pods", "eviction", evictPod],
  ["", "serviceaccounts", "token", requestToken],
  ["authentication", "tokenreviews", "", reviewToken],
];

/** What a create of this resource or subresource does; undefined where it creates an object. */
export function actionOf({ verb, resource, subresource }: ResourceInfo): Action | undefined {
  if (verb !== "create") return undefined;
  const label = resource.group.split(".", 1)[0];
  const through = subresource?.name ?? "";
  return table.find(([group, name, sub]) => name === resource.resource && sub === through && group === label)?.[3];
}

/** Reads the body of an action; a 400 Status for one that does not fit. */
export function readActionBody(
  writers: WriteServices,
  info: ResourceInfo,
  bytes: Uint8Array,
  format: BodyFormat,
  fields: FieldReport | undefined,
): Body | Status {
  const shape = shapeOf(info.resource, info.subresource);
  return readBody(
    writers.scheme,
    shape.kind === "Eviction" ? evictionShape(shape, bytes, format) : shape,
    bytes,
    format,
    fields,
  );
}

/** Evictions may be written in the version before, which no resource has. */
function evictionShape(shape: Resource, bytes: Uint8Array, format: BodyFormat): Resource {
  const typed = readTyped(bytes, format);
  if (typed instanceof Fault || typed.apiVersion !== "policy/v1beta1") return shape;
  const message = messageOf("policy/v1beta1.Eviction");
  return { ...shape, version: "v1beta1", apiVersion: typed.apiVersion, message };
}
