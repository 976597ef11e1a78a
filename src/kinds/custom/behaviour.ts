// How objects of a custom resource behave: the same for all, but for what the definition says of schema, columns, status
// and scale.
import type { FieldError } from "../../api/fielderror.ts";
import type { Scale } from "../../api/gen/autoscaling/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import type { WithContent } from "../../codec/engine/content.ts";
import { toValue } from "../../codec/engine/json.ts";
import { sameValue } from "../../merge/document.ts";
import { type Behaviour, completed } from "../behaviour.ts";
import type { Columns } from "../columns.ts";
import { countUp, keepMeta } from "../generic.ts";
import type { MetaRules } from "../metarules.ts";
import type { Scaling } from "../scale.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { rulesGate } from "./rules/gate.ts";
import { integerAt, setAt, textAtPath, Unreadable, validateScalePaths } from "./scalepaths.ts";
import { settle, settleConverted, settleStored, validate } from "./schema.ts";
import type { CustomVersion } from "./versions.ts";

/** An object of a custom resource. */
export type CustomObject = ApiObject & WithContent;

/** The behaviour of one version of a definition. */
export function behaviourOfVersion(resource: Resource, version: CustomVersion): Behaviour {
  const { schema } = version;
  const strategy = customStrategy(resource, version) as Strategy<ApiObject>;
  return {
    ...completed(resource, { strategy, metaRules }),
    columns: columnsOver(resource, version.columns),
    scale: scalingBy(version),
    settle: (object, isStored) => {
      const { content } = object as CustomObject;
      return isStored ? settleStored(schema, content) : settle(schema, content);
    },
    prune: (object) => settleConverted(schema, (object as CustomObject).content),
    form: version.form(),
  };
}

/** Finalizers need not be registered, nor have a domain. */
const metaRules: MetaRules = { update: [0, 1], anyFinalizer: true };

/** Nothing but names is selected by. */
const fieldLabels: ReadonlyMap<string, string> = new Map();

function customStrategy(resource: Resource, version: CustomVersion): Strategy<CustomObject> {
  const { schema, scale } = version;
  const hasStatus = resource.subresources.some(({ name }) => name === "status");
  const counted = (content: ValueMap): ValueMap => (hasStatus ? without(content, "status") : content);
  const check = (
    { gates }: StrategyContext,
    object: CustomObject,
    old?: CustomObject,
    statusOnly = false,
  ): FieldError[] => {
    const document = documentOf(object);
    const former = old && documentOf(old);
    const { values, shapes } = validate(schema, document, former);
    const found = [...values, ...(scale ? validateScalePaths(document, scale, statusOnly) : []), ...shapes];
    return gates.has(rulesGate) ? [...found, ...version.ruleFaults(document, former)] : found;
  };
  return {
    nameFormat: "dns1123-subdomain",
    fieldLabels,
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    returnsDeletedObject: false,
    prepareForCreate(_context, object) {
      // What a client sends of it is dropped; its defaults are there as soon as the object is read (upstream).
      if (hasStatus) put(object.content, "status", statusOfNew(version));
      object.metadata.generation = 1;
    },
    validate: check,
    update: {
      prepare(_context, object, old) {
        if (hasStatus) put(object.content, "status", old.content.get("status"));
        if (!sameValue(counted(object.content), counted(old.content))) countUp(object, old);
      },
      validate: check,
    },
    ...(hasStatus && {
      status: {
        prepare(_context, object, old) {
          const status = object.content.get("status");
          object.content = new Map(old.content);
          put(object.content, "status", status);
          keepMeta(object, old);
        },
        validate: (context, object, old) => check(context, object, old, true),
      },
    }),
  };
}

/** The status of an object that has nothing else: a new value each time. */
function statusOfNew({ schema }: CustomVersion): Value | undefined {
  if (schema.root.properties?.get("status")?.default === undefined) return undefined;
  const content: ValueMap = new Map();
  settle(schema, content);
  return content.get("status");
}

/** The object as its schema sees it: of the metadata a schema may say something about names alone. */
function documentOf({ kind = "", apiVersion = "", metadata, content }: CustomObject): ValueMap {
  const names: ValueMap = new Map();
  if (metadata.name !== undefined) names.set("name", metadata.name);
  if (metadata.generateName !== undefined) names.set("generateName", metadata.generateName);
  return new Map<string, Value>([["apiVersion", apiVersion], ["kind", kind], ["metadata", names], ...content]);
}

/** Columns of the generic document as columns of the object, which is made into one once for all its cells. */
function columnsOver({ message }: Resource, { columns, overParts }: Columns<ValueMap>): Columns {
  let last: ApiObject | undefined;
  let document: ValueMap = new Map();
  const documentFor = (object: ApiObject): ValueMap => {
    if (object !== last) document = toValue(message, object) as ValueMap;
    last = object;
    return document;
  };
  return {
    columns: columns.map((column) => ({ ...column, cell: (object, now) => column.cell(documentFor(object), now) })),
    ...(overParts && { overParts }),
  };
}

/** Scaling by the paths of a definition. What cannot be read there counts as nothing: writes of it were refused. */
function scalingBy({ scale: paths, sizes }: CustomVersion): Scaling | undefined {
  if (paths === undefined) return undefined;
  const { specReplicas, statusReplicas, labelSelector } = paths;
  return {
    defined: { path: `.${specReplicas.join(".")}`, at: (apiVersion) => sizes.get(apiVersion) },
    read(object): Scale {
      const { metadata, content } = object as CustomObject;
      const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
      const selector = labelSelector && textAtPath(content, labelSelector);
      return {
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
        spec: { replicas: countAt(content, specReplicas) },
        status: {
          replicas: countAt(content, statusReplicas) ?? 0,
          selector: selector instanceof Unreadable ? "" : (selector ?? ""),
        },
      };
    },
    write(object, scale) {
      const { metadata, content } = object as CustomObject;
      setAt(content, specReplicas, scale.spec.replicas ?? 0);
      // Without a version it is the one that was read, so that a write of it starts over where that is no more.
      if ((scale.metadata.resourceVersion ?? "") !== "") metadata.resourceVersion = scale.metadata.resourceVersion;
    },
  };
}

function countAt(content: ValueMap, path: readonly string[]): number | undefined {
  const count = integerAt(content, path);
  if (count === undefined) return undefined;
  return count instanceof Unreadable ? 0 : Number(count);
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
