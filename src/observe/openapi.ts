// How often OpenAPI documents are put together because of extension servers, by upstream's names. Each front has documents
// of its own, made when a client asks: what no client asks for is not made and not counted.
import type { Registry } from "./metrics.ts";

/** What became of a document. */
export type DocumentChange = "add" | "update" | "delete";

/** Whose documents are put together. */
interface Changing {
  /** Another number whenever they changed. */
  readonly generation: number;
  /** What became of those that changed after a generation, by APIService. */
  changesAfter(generation: number): ReadonlyMap<string, DocumentChange>;
}

/** Counts documents that are put together. */
export interface OpenApiMeter {
  /** A document in this form is begun. Call what is returned when it is done. */
  began(form: string, from: Changing): () => void;
}

/** Counts into `registry`; once per registry. */
export function openApiMeter(registry: Registry): OpenApiMeter {
  const count = registry.counter(
    "aggregator_openapi_v2_regeneration_count",
    "OpenAPI v2 documents of a front put together anew, by each APIService that was a reason for it.",
    "apiservice",
    "reason",
  );
  const seconds = registry.fact(
    "aggregator_openapi_v2_regeneration_duration",
    "Seconds it took to put the last OpenAPI v2 document together, of the slowest front.",
    "reason",
  );
  /** Generations by form. */
  const seen = new Map<string, number>();
  return {
    began(form, from) {
      const before = seen.get(form);
      const beganMs = performance.now();
      const changes = from.changesAfter(before ?? -1);
      seen.set(form, from.generation);
      return () => {
        const took = (performance.now() - beganMs) / 1000;
        for (const [name, change] of changes) {
          if (before === undefined && change === "delete") continue;
          const reason = before === undefined ? "startup" : change;
          count.add(`${name}\0${reason}`);
          seconds.set(reason, took);
        }
      };
    },
  };
}
