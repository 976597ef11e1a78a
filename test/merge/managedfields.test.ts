import t from "tap";
import { messageOf } from "../../src/api/messages.ts";
import type { ManagedFieldsEntry } from "../../src/api/object.ts";
import { RawJson } from "../../src/api/schema.ts";
import type { Value } from "../../src/api/value.ts";
import type { Kind } from "../../src/merge/apply.ts";
import { setOf } from "../../src/merge/fieldset.ts";
import { applyConfig, ConflictFault, trackUpdate } from "../../src/merge/managedfields.ts";
import { typeOfMessage } from "../../src/merge/schema.ts";
import { TypeFault } from "../../src/merge/typed.ts";
import { fromJson, toJson, value } from "../support/values.ts";

const type = typeOfMessage(messageOf("core/v1.ConfigMap"));
const kind: Kind = {
  typeOf: (version) => (version === "v1" ? type : undefined),
  convert: () => undefined,
  ignored: () => setOf(["f:immutable"]),
};
const limits = {
  parse: (text: string): Value | undefined => {
    try {
      return fromJson(text);
    } catch {
      return undefined;
    }
  },
  depthMax: 10,
};
const blank = value({ metadata: { creationTimestamp: null } });

/** An object and its history of writes. */
const told = (): string => "x";

class Life {
  value: Value = blank;
  entries: ManagedFieldsEntry[] | undefined;
  exists = false;
  #seconds = 0;

  #writer(manager: string, subresource = ""): Parameters<typeof trackUpdate>[2] {
    const now = `2026-01-01T00:00:${String(this.#seconds++).padStart(2, "0")}Z`;
    return { manager, version: "v1", subresource, now };
  }

  update(manager: string, data: unknown, sent: ManagedFieldsEntry[] | undefined = this.entries): string {
    const next = value({ metadata: { name: "x", creationTimestamp: null }, ...(data as object) });
    const { value: before } = this;
    const live = { value: () => before, entries: this.entries, exists: this.exists };
    this.entries = trackUpdate(kind, limits, this.#writer(manager), live, { value: () => next, entries: sent });
    this.value = next;
    this.exists = true;
    return this.owners;
  }

  apply(manager: string, data: unknown, force = false): string {
    const config = value({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, ...(data as object) });
    const live = { value: this.value, blank, entries: this.entries, told };
    const done = applyConfig(kind, limits, this.#writer(manager), live, config, force, undefined);
    if (done instanceof TypeFault || done instanceof ConflictFault) return done.message;
    this.value = done.value;
    this.entries = done.entries;
    this.exists = true;
    return this.owners;
  }

  get data(): string {
    return toJson((this.value as Map<string, Value>).get("data") ?? null);
  }

  get owners(): string {
    return (this.entries ?? [])
      .map(({ manager, operation, time, fieldsV1 }) => {
        return `${manager} ${operation} ${time?.slice(17, 19)} ${fieldsV1?.text.replaceAll('"', "")}`;
      })
      .join("; ");
  }
}

t.test("trackUpdate() gives a manager what it sets and takes it from the others", (t) => {
  const life = new Life();
  t.equal(life.update("a", { data: { x: "1", y: "1" } }), "a Update 00 {f:data:{.:{},f:x:{},f:y:{}}}");
  t.equal(
    life.update("b", { data: { x: "2", y: "1" } }),
    "a Update 00 {f:data:{.:{},f:y:{}}}; b Update 01 {f:data:{f:x:{}}}",
  );
  // The same again: no manager's time changes.
  t.equal(life.update("b", { data: { x: "2", y: "1" } }), life.owners);
  t.equal(life.update("c", { data: { x: "2", y: "1" }, immutable: true }), life.owners);
  t.equal(life.update("c", { data: { y: "1" } }), "a Update 00 {f:data:{.:{},f:y:{}}}");
  t.equal(life.update("c", {}), "");
  t.end();
});

t.test("trackUpdate() starts anew when the entries are reset, and then tracks no updates", (t) => {
  const life = new Life();
  life.update("a", { data: { x: "1" } });
  t.equal(life.update("b", { data: { x: "1" } }, [{}]), "");
  t.equal(life.update("b", { data: { x: "3" } }), "");
  t.equal(
    life.apply("c", { data: { y: "1" } }),
    "c Apply 03 {f:data:{f:y:{}}}; before-first-apply Update 03 {f:data:{.:{},f:x:{}}}",
  );
  t.end();
});

t.test("trackUpdate() gives who resets the entries what the same write changes, and nothing else", (t) => {
  const life = new Life();
  life.update("a", { data: { x: "1", y: "1" } });
  t.equal(life.update("b", { data: { x: "2", y: "1" } }, [{}]), "b Update 01 {f:data:{f:x:{}}}");
  t.end();
});

t.test("trackUpdate() takes an empty list of entries for none", (t) => {
  const life = new Life();
  life.update("a", { data: { x: "1" } });
  t.equal(life.update("b", { data: { x: "1" } }, []), "a Update 00 {f:data:{.:{},f:x:{}}}");
  t.equal(life.update("b", { data: { x: "2" } }, []), "a Update 00 {f:data:{}}; b Update 02 {f:data:{f:x:{}}}");
  t.end();
});

t.test("trackUpdate() falls back to what is stored when a body's entries are malformed", (t) => {
  const entry = { manager: "q", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" };
  const table: ManagedFieldsEntry[] = [
    { ...entry, operation: "Other" },
    { ...entry, apiVersion: "" },
    { ...entry, fieldsType: "" },
    { ...entry, fieldsV1: new RawJson('{"x":{}}') },
    { ...entry, fieldsV1: new RawJson("[]") },
    { ...entry, fieldsV1: new RawJson(`${'{"f:a":'.repeat(20)}{}${"}".repeat(20)}`) },
  ];
  for (const sent of table) {
    const life = new Life();
    life.update("a", { data: { x: "1" } });
    t.equal(life.update("a", { data: { x: "1" } }, [sent]), "a Update 00 {f:data:{.:{},f:x:{}}}", JSON.stringify(sent));
  }
  t.end();
});

t.test("trackUpdate() folds the oldest updaters when there are more than ten", (t) => {
  const life = new Life();
  const data: Record<string, string> = {};
  for (let i = 0; i < 14; i++) {
    data[`k${i}`] = "1";
    life.update(`m${i}`, { data });
  }
  const managers = (life.entries ?? []).map(({ manager }) => manager);
  t.equal(managers.length, 10);
  t.ok(managers.includes("ancient-changes"));
  t.ok(managers.includes("m13"));
  t.end();
});

t.test("applyConfig() merges, gives up, conflicts and forces", (t) => {
  const life = new Life();
  t.equal(life.apply("a", { data: { x: "1", y: "2" } }), "a Apply 00 {f:data:{f:x:{},f:y:{}}}");
  t.equal(life.apply("a", { data: { x: "1", y: "2" } }), "a Apply 00 {f:data:{f:x:{},f:y:{}}}");
  t.equal(life.apply("a", { data: { x: "9" } }), "a Apply 02 {f:data:{f:x:{}}}");
  t.equal(life.data, '{"x":"9"}');
  t.equal(life.apply("b", { data: { x: "1" } }), 'Apply failed with 1 conflict: conflict with "a": .data.x');
  t.equal(life.apply("b", { data: { x: "9" } }), "a Apply 02 {f:data:{f:x:{}}}; b Apply 04 {f:data:{f:x:{}}}");
  t.equal(life.apply("a", { data: { x: "8" } }, true), "a Apply 02 {f:data:{f:x:{}}}".replace("02", "05"));
  t.equal(
    life.update("u", { data: { x: "8", u: "1", v: "1" } }).includes("u Update 06 {f:data:{f:u:{},f:v:{}}}"),
    true,
  );
  t.equal(
    life.apply("b", { data: { x: "1", u: "2", v: "2" } }),
    'Apply failed with 3 conflicts: conflicts with "a":\n- .data.x\nconflicts with "u" using v1:\n- .data.u\n- .data.v',
  );
  t.end();
});

t.test("applyConfig() removes what only the applier owned, and keeps what others own", (t) => {
  const life = new Life();
  life.update("u", { data: { shared: "1", theirs: "1" } });
  life.apply("a", { data: { shared: "1", mine: "1" } });
  life.apply("a", {});
  t.equal(life.data, '{"shared":"1","theirs":"1"}');
  t.equal(life.owners, "u Update 00 {f:data:{.:{},f:shared:{},f:theirs:{}}}");
  t.end();
});

t.test("applyConfig() lets kubectl take what its annotation shows it set", (t) => {
  const live = value({ metadata: {}, data: { x: "1", y: "1" } });
  const entries: ManagedFieldsEntry[] = [
    {
      manager: "kubectl-client-side-apply",
      operation: "Update",
      apiVersion: "v1",
      fieldsType: "FieldsV1",
      fieldsV1: new RawJson('{"f:data":{".":{},"f:x":{},"f:y":{}}}'),
    },
  ];
  const writer = { manager: "kubectl", version: "v1", subresource: "", now: "2026-01-01T00:00:00Z" };
  const last = value({ apiVersion: "v1", kind: "ConfigMap", data: { x: "1" } });
  const run = (data: unknown): string => {
    const config = value({ apiVersion: "v1", kind: "ConfigMap", data });
    const done = applyConfig(kind, limits, writer, { value: live, blank, entries, told }, config, false, last);
    return done instanceof TypeFault || done instanceof ConflictFault ? done.message : toJson(done.value);
  };
  t.equal(run({ x: "2" }), '{"metadata":{},"data":{"x":"2","y":"1"},"apiVersion":"v1","kind":"ConfigMap"}');
  t.equal(
    run({ x: "2", y: "2" }),
    'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.y',
  );
  t.end();
});
