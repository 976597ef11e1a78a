// The resources an extension server says it has, in the form of aggregated discovery (upstream's conversion). What it sent
// is read field by field: nothing of another group version passes, and nothing of another shape.
import type { RemoteVersion } from "./target.ts";

/** A resource of an extension server, as aggregated discovery lists it. */
export interface RemoteResource {
  readonly resource: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly verbs: readonly string[];
  readonly responseKind: object;
  readonly singularResource: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly object[];
}

/** The resources of a group version. */
export type RemoteResources = readonly RemoteResource[];

/** A value of JSON that is an object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value of JSON is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads an APIResourceList; a text says why it cannot be one of this group version. */
export function readResourceList(body: Uint8Array, { group, version }: RemoteVersion): RemoteResources | string {
  const list: unknown = JSON.parse(Buffer.from(body).toString());
  const named = group === "" ? version : `${group}/${version}`;
  if (!isJsonObject(list) || list["kind"] !== "APIResourceList") return "it is no APIResourceList";
  if (list["groupVersion"] !== named) return "it is the list of another group version";
  const all = Array.isArray(list["resources"]) ? list["resources"].filter(isJsonObject) : [];
  const found = new Map<string, Draft>();
  for (const each of all) {
    const name = textOf(each["name"]);
    const [plural = "", subresource, ...more] = name.split("/");
    if (plural === "" || more.length > 0 || subresource === "") continue;
    const scope: RemoteResource["scope"] = each["namespaced"] === true ? "Namespaced" : "Cluster";
    const responseKind = {
      group: textOf(each["group"]) || group,
      version: textOf(each["version"]) || version,
      kind: textOf(each["kind"]),
    };
    const verbs = textsOf(each["verbs"]);
    const draft: Draft = found.get(plural) ?? { head: undefined, subresources: [] };
    found.set(plural, draft);
    if (subresource === undefined) {
      draft.head = {
        resource: plural,
        responseKind,
        scope,
        singularResource: textOf(each["singularName"]),
        verbs,
        ...present("shortNames", textsOf(each["shortNames"])),
        ...present("categories", textsOf(each["categories"])),
      };
      continue;
    }
    draft.subresources.push({ subresource, responseKind, verbs });
    // Clients of some releases expect a kind, also of a resource that is there for its subresources alone.
    draft.head ??= {
      resource: plural,
      responseKind: { group: "", version: "", kind: "" },
      scope,
      singularResource: "",
      verbs: [],
    };
  }
  return [...found.values()].flatMap(({ head, subresources }) =>
    head === undefined ? [] : { ...head, ...present("subresources", subresources) },
  );
}

/** A resource that is being put together. */
interface Draft {
  head: RemoteResource | undefined;
  readonly subresources: object[];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
}

function present(name: string, list: readonly unknown[]): object {
  return list.length === 0 ? {} : { [name]: list };
}
