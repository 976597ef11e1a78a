// How objects of a custom resource behave: the same for all, but for what the definition says of schema, status and scale.
import type { CustomResourceDefinitionVersion } from "../../api/gen/apiextensions/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import type { WithContent } from "../../codec/engine/content.ts";
import { sameValue } from "../../merge/document.ts";
import { type Behaviour, completed } from "../behaviour.ts";
import { countUp, keepMeta } from "../generic.ts";
import type { Strategy } from "../strategy.ts";

/** An object of a custom resource. */
export type CustomObject = ApiObject & WithContent;

/** The behaviour of one version of a definition. */
export function behaviourOfVersion(
  resource: Resource,
  _version: CustomResourceDefinitionVersion,
  _identity: Identity,
): Behaviour {
  const strategy = customStrategy(resource) as Strategy<ApiObject>;
  return completed(resource, { strategy });
}

function customStrategy(resource: Resource): Strategy<CustomObject> {
  const hasStatus = resource.subresources.some(({ name }) => name === "status");
  const counted = (content: ValueMap): ValueMap => (hasStatus ? without(content, "status") : content);
  return {
    nameFormat: "dns1123-subdomain",
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    returnsDeletedObject: false,
    prepareForCreate(_context, object) {
      if (hasStatus) object.content.delete("status");
      object.metadata.generation = 1;
    },
    validate: () => [],
    update: {
      prepare(_context, object, old) {
        if (hasStatus) put(object.content, "status", old.content.get("status"));
        if (!sameValue(counted(object.content), counted(old.content))) countUp(object, old);
      },
      validate: () => [],
    },
    ...(hasStatus && {
      status: {
        prepare(_context, object, old) {
          const status = object.content.get("status");
          object.content = new Map(old.content);
          put(object.content, "status", status);
          keepMeta(object, old);
        },
        validate: () => [],
      },
    }),
  };
}

function put(content: ValueMap, key: string, value: Value | undefined): void {
  if (value === undefined) content.delete(key);
  else content.set(key, value);
}

function without(content: ValueMap, key: string): ValueMap {
  if (!content.has(key)) return content;
  const rest = new Map(content);
  rest.delete(key);
  return rest;
}
