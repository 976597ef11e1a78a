import t from "tap";
import type { ControllerRevision } from "../../../src/api/gen/apps/v1.ts";
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from "../../../src/kinds/apps/controllerrevision.ts";
import { type Json, lines, make, texts } from "../build.ts";
import { context } from "../workloads.ts";

t.test("validateControllerRevision() keeps its data", (t) => {
  const revision = (more: Json): ControllerRevision =>
    make("ControllerRevision", { metadata: { name: "r" }, revision: 1, ...more }, "apps");
  t.same(lines(validateControllerRevision(revision({ revision: -1 }), context)), [
    "data: Required value: data is mandatory",
    `revision: Invalid value: -1: ${texts.nonNegative}`,
  ]);
  t.same(
    lines(
      validateControllerRevisionUpdate(
        revision({ data: { a: 1 }, revision: 2 }),
        revision({ data: { a: 1 } }),
        context,
      ),
    ),
    [],
  );
  t.same(lines(validateControllerRevisionUpdate(revision({ data: { a: 2 } }), revision({ data: { a: 1 } }), context)), [
    'data: Invalid value: runtime.Unknown{TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""}, Raw:[]uint8{0x7b, 0x22, 0x61, 0x22, 0x3a, 0x32, 0x7d}, ContentEncoding:"", ContentType:"application/json"}: field is immutable',
  ]);
  t.end();
});
