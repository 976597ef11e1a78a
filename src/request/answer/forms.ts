// The writers of forms, and which of them a request may ask for.
import type { Resource } from "../../api/scheme.ts";
import { refuse, type Status } from "../../api/status.ts";
import type { Form } from "../route/negotiate.ts";
import type { FormInput, FormWriter } from "./form.ts";
import { partialWriter } from "./partial.ts";
import { TableWriter } from "./table.ts";

/** The writer of a form, for objects at the version of `source`. */
export function formWriter(input: FormInput, source: Resource): FormWriter {
  return input.form.kind === "Table" ? new TableWriter(input, source) : partialWriter(input, source);
}

/** 406 for the form of a list of one object, and the other way round; upstream's text, with its type names. */
export function formRefusal(form: Form, resource: Resource, isList: boolean): Status | undefined {
  if (form.kind === "Table" || (form.kind === "PartialObjectMetadataList") === isList) return undefined;
  const [group = ""] = resource.message.name.split("/");
  // Events of both groups are one type inside upstream.
  const own = `${group === "events" ? "core" : group}.${isList ? resource.listKind : resource.kind}`;
  const type = `*${resource.message.open === true ? `unstructured.Unstructured${isList ? "List" : ""}` : own}`;
  const what = isList ? `is a list (${type})` : `is not a list (${type})`;
  return refuse("NotAcceptable", `you requested ${form.kind}, but the requested object ${what}`);
}
