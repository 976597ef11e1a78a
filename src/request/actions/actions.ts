// POSTs that do something instead of storing what was sent: binding a pod to a node, evicting it, signing or reviewing a
// token. Each answers a Status, or the object that was sent with what came of it.

import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Status } from "../../api/status.ts";
import { Fault } from "../../codec/engine/json.ts";
import { readTyped, type Sent } from "../body/body.ts";
import type { WriteRequest, WriteServices, Written } from "../commit/writerequest.ts";
import type { ResourceInfo } from "../route/info.ts";
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

/** What the body of an action decodes as. Evictions may be written in the version before, which no resource has. */
export function actionShape({ resource, subresource }: ResourceInfo, { bytes, format }: Sent): Resource {
  const shape = shapeOf(resource, subresource);
  if (shape.kind !== "Eviction") return shape;
  const typed = readTyped(bytes, format);
  if (typed instanceof Fault || typed.apiVersion !== "policy/v1beta1") return shape;
  const message = messageOf("policy/v1beta1.Eviction");
  return { ...shape, version: "v1beta1", apiVersion: typed.apiVersion, message };
}
