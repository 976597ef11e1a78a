// Versions of a kind: conversion to and from the version it is stored in, without loss.
// Most versions differ in name only; those that differ in shape have a pair of functions in conversions/.
import type { HorizontalPodAutoscaler } from "../api/gen/autoscaling/v2.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { autoscalerConversions } from "./autoscaling/conversions.ts";
import { eventFromCore, eventToCore } from "./core/event.ts";
import { sliceConversions } from "./discovery/endpointslice.ts";
import { runtimeClassFromOld, runtimeClassToOld } from "./node/runtimeclass.ts";
import { budgetConversions } from "./policy/poddisruptionbudget.ts";

/** Turns an object of one message type into one of another; the object given is used up. */
type Conversion = (object: never) => ApiObject;

const tables = new WeakMap<Identity, ReadonlyMap<string, Conversion>>();

/**
 * The same object at another version of its kind; may reuse parts of `object`, which must not be used afterwards.
 * Where a version has no room for something, annotations carry it.
 */
export function convert(object: ApiObject, from: Resource, to: Resource, identity: Identity): ApiObject {
  if (from === to) return object;
  const conversion = tableOf(identity).get(`${from.message.name} ${to.message.name}`);
  const converted = conversion === undefined ? object : conversion(object as never);
  converted.kind = to.kind;
  converted.apiVersion = to.apiVersion;
  return converted;
}

function tableOf(identity: Identity): ReadonlyMap<string, Conversion> {
  let table = tables.get(identity);
  if (table === undefined) {
    table = makeTable(identity);
    tables.set(identity, table);
  }
  return table;
}

/** By the names of both message types. */
function makeTable(identity: Identity): ReadonlyMap<string, Conversion> {
  const slices = sliceConversions(identity);
  const budgets = budgetConversions(identity);
  const pairs: (readonly [from: string, to: string, there: Conversion, back: Conversion])[] = [
    ["core/v1.Event", "events/v1.Event", eventFromCore, eventToCore],
    ["core/v1.Event", "events/v1beta1.Event", eventFromCore, eventToCore],
    ["discovery/v1beta1.EndpointSlice", "discovery/v1.EndpointSlice", slices.fromOld, slices.toOld],
    ["node/v1alpha1.RuntimeClass", "node/v1.RuntimeClass", runtimeClassFromOld, runtimeClassToOld],
    ["node/v1alpha1.RuntimeClass", "node/v1beta1.RuntimeClass", runtimeClassFromOld, runtimeClassToOld],
    ["policy/v1beta1.PodDisruptionBudget", "policy/v1.PodDisruptionBudget", budgets.fromOld, budgets.toOld],
    ...autoscalerPairs(identity),
  ];
  return new Map(
    pairs.flatMap(([from, to, there, back]): [string, Conversion][] => [
      [`${from} ${to}`, there],
      [`${to} ${from}`, back],
    ]),
  );
}

/** Every version to every other one, by way of v2, whose shape v2beta2 shares. */
function autoscalerPairs(identity: Identity): (readonly [string, string, Conversion, Conversion])[] {
  const { fromV1, toV1, fromV2beta1, toV2beta1 } = autoscalerConversions(identity);
  const name = (version: string) => `autoscaling/${version}.HorizontalPodAutoscaler`;
  const same = (object: HorizontalPodAutoscaler) => object;
  const hub: readonly (readonly [
    string,
    (o: never) => HorizontalPodAutoscaler,
    (o: HorizontalPodAutoscaler) => ApiObject,
  ])[] = [
    ["v1", fromV1, toV1],
    ["v2", same, same],
    ["v2beta1", fromV2beta1, toV2beta1],
    ["v2beta2", same, same],
  ];
  return hub.flatMap(([from, intoHub, outOfHub], index) =>
    hub.slice(index + 1).map(([to, otherInto, otherOut]) => {
      const there: Conversion = (object) => otherOut(intoHub(object));
      const back: Conversion = (object) => outOfHub(otherInto(object));
      return [name(from), name(to), there, back] as const;
    }),
  );
}
