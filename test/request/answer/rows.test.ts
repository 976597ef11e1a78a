// Rows that are made of what was kept are those made of the objects.
import t from "tap";
import type { ApiObject } from "../../../src/api/object.ts";
import type { RecordSource } from "../../../src/cache/view/view.ts";
import { encode } from "../../../src/codec/engine/json.ts";
import { formWriter } from "../../../src/request/answer/forms.ts";
import { rowShelf } from "../../../src/request/answer/rows.ts";
import { created, identity, now, scheme } from "../../kinds/cells.ts";
import { ObjectSource, objectFrom } from "../../support/objects.ts";
import { draws } from "../../support/random.ts";

const round = 40;
const minute = 60_000;

t.test("rows of what was kept are those of the objects, at any time and with what they carry", (t) => {
  const source = new ObjectSource(draws(11));
  let kept = 0;
  let all = 0;
  for (const resource of scheme.resources) {
    if ((resource.stored ?? resource) !== resource) continue;
    const objects: Uint8Array[] = [];
    const view = { object: (at: number) => objects[at], isCurrent: () => true } as unknown as RecordSource;
    for (let at = 0; at < round; at++) {
      const object = objectFrom<ApiObject>(resource.message, source.json(resource.message));
      object.kind = resource.kind;
      object.apiVersion = resource.apiVersion;
      if (at % 4 > 0) object.metadata.creationTimestamp = created;
      // Offsets of characters are not those of bytes.
      if (at % 3 === 0) object.metadata.annotations = new Map([["ä", "Ünïcödé 漢字"]]);
      objects.push(Buffer.from(encode(resource.message, object)));
    }
    // Each time, and what is carried, with what the ones before kept.
    for (const [later, includeObject] of [
      [0, "Metadata"],
      [0, "Metadata"],
      [minute, "Metadata"],
      [2000 * minute, "None"],
      [2001 * minute, "Object"],
    ] as const) {
      const form = { kind: "Table", apiVersion: "meta.k8s.io/v1", includeObject } as const;
      const writer = formWriter({ form, resource, identity, now: () => now + later }, resource);
      const record = writer.records?.(view);
      if (record === undefined) continue;
      for (const [at, object] of objects.entries()) {
        const made = Buffer.from(writer.item(object)).toString();
        const again = Buffer.from(record(at)).toString();
        if (again !== made) t.equal(again, made, `${resource.resource} ${includeObject}`);
      }
    }
    all += objects.length;
    kept += objects.filter((_, at) => rowShelf(view, resource).get(at) !== undefined).length;
  }
  t.ok(kept > all / 2, `${kept} of ${all} rows were kept`);
  t.end();
});
