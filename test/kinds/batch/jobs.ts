// Jobs for tests.
import type { Job } from "../../../src/api/gen/batch/v1.ts";
import { contextOf, type Json, make, podSpec } from "../build.ts";

/** A request of the group batch. */
export const context = contextOf("batch");
const labels = { "controller-uid": "u", "job-name": "j" };

/** The template of the pods of a job, around `spec`. */
export function jobTemplate(spec: Json = {}, more: Json = {}): Json {
  return { metadata: { labels }, spec: podSpec({ restartPolicy: "Never", ...spec }), ...more };
}

/** A job, around `spec`. */
export function job(spec: Json = {}, metadata: Json = {}, status: Json = {}): Job {
  const selector = { matchLabels: { "controller-uid": "u" } };
  return make(
    "Job",
    { metadata: { name: "j", uid: "u", ...metadata }, spec: { selector, template: jobTemplate(), ...spec }, status },
    "batch",
  );
}
