// POSTs that do or answer something instead of storing what was sent: binding a pod to a node, evicting it, signing or
// reviewing a token, telling what a user may do.

import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Status } from "../../api/status.ts";
import { Fault } from "../../codec/engine/json.ts";
import { readTyped, type Sent } from "../body/body.ts";
import type { Server } from "../call/context.ts";
import type { WriteRequest, Written } from "../commit/writerequest.ts";
import { type ResourceInfo, shapeOf } from "../route/info.ts";
import { bindPod } from "./binding.ts";
import { evictPod } from "./eviction.ts";
import { accessReview, reviewRules } from "./reviews.ts";
import { requestToken } from "./tokenrequest.ts";
import { reviewToken } from "./tokenreview.ts";

/**
 * Does what a body says, or answers what it asks: a Status, or the object that was sent with what came of it. A name that
 * is not in the path is taken from the body.
 */
export type Action = (server: Server, request: WriteRequest, body: ApiObject) => Promise<Written | Status>;

/** Groups (canonical spelling), resources, subresources (empty: the resource itself), and what a POST does there. */
const table: readonly (readonly [group: string, resource: string, subresource: string, act: Action])[] = [
  ["", "bindings", "", bindPod],
  ["", "pods", "binding", bindPod],
  ["", "pods", "eviction", evictPod],
  ["", "serviceaccounts", "token", requestToken],
  ["authentication.k8s.io", "tokenreviews", "", reviewToken],
  ["authorization.k8s.io", "subjectaccessreviews", "", accessReview("subject")],
  ["authorization.k8s.io", "selfsubjectaccessreviews", "", accessReview("self")],
  ["authorization.k8s.io", "localsubjectaccessreviews", "", accessReview("local")],
  ["authorization.k8s.io", "selfsubjectrulesreviews", "", reviewRules],
];

/** What a create of this resource or subresource does; undefined where it creates an object. */
export function actionOf({ verb, resource, subresource }: ResourceInfo, { spell }: Identity): Action | undefined {
  if (verb !== "create") return undefined;
  const through = subresource?.name ?? "";
  const isHere = (group: string): boolean => resource.group === (group === "" ? "" : spell(group));
  return table.find(([group, name, sub]) => name === resource.resource && sub === through && isHere(group))?.[3];
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
