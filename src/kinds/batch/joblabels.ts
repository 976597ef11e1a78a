// The labels of a new job that has none of its own are those of its pods, the very map (upstream): the labels that the
// server gives the pods later become the job's, too. Labels that were only sent alike stay apart, so that equality does
// not tell; an object that goes from thread to thread takes along whether it is one map.
import type { ApiObject } from "../../api/object.ts";

interface Templated extends ApiObject {
  readonly spec?: { readonly template?: { readonly metadata?: { readonly labels?: Map<string, string> | undefined } } };
}

function podLabels(object: ApiObject): Map<string, string> | undefined {
  return (object as Templated).spec?.template?.metadata?.labels;
}

/** Whether an object's labels and those of its pods are one map. */
export function sharesLabels(object: ApiObject): boolean {
  const { labels } = object.metadata;
  return labels !== undefined && labels === podLabels(object);
}

/** Makes them one map again. */
export function shareLabels(object: ApiObject): void {
  object.metadata.labels = podLabels(object);
}
