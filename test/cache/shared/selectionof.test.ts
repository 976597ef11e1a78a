// Side-tables follow what their kind derives: those of objects stored before are derived again when a log is loaded.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { decodeSelection, encodeSelection, formOf, selectionSource } from "../../../src/cache/shared/selection.ts";
import { deriving, formsOf, selectionOf } from "../../../src/cache/shared/selectionof.ts";
import { Selections } from "../../../src/cache/shared/selections.ts";
import { decode, encodeForStore, Fault } from "../../../src/codec/engine/json.ts";
import { behaviourOf } from "../../../src/kinds/table.ts";
import { changeTypes, type Record } from "../../../src/storage/store.ts";
import { value } from "../../support/values.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });
const pods = scheme.find("", "v1", "pods");
if (pods === undefined) throw new Error("No pods");

function recordOf(selection: Uint8Array, object: ApiObject): Record {
  if (pods?.prefix === undefined) throw new Error("Pods are stored");
  const { body, versionAt } = encodeForStore(pods.message, object);
  const { prefix } = pods;
  const at = { prefix, key: `${prefix}/default/a`, revision: 7, createRevision: 7, previous: 0 };
  return { ...at, type: changeTypes.create, selection, body, versionAt };
}

t.test("an object stored before its kind had a selectable field is found by it", async (t) => {
  const shown = { kind: "Pod", apiVersion: "v1", metadata: { name: "a", namespace: "default", labels: { l: "1" } } };
  const pod = decode<ApiObject>(pods.message, value({ ...shown, spec: { nodeName: "n1", containers: [] } }));
  if (pod instanceof Fault) throw new Error(pod.message);
  let asked = 0;
  const selections = new Selections(formsOf(scheme.resources, identity), async () => {
    asked++;
    return deriving(scheme.resources, identity);
  });
  const freshOf = async (record: Record): Promise<Record> => {
    const [current, fresh, ...more] = await selections.fresh([own, record]);
    t.equal(current, own);
    if (fresh === undefined || more.length > 0) throw new Error("Two records became others");
    return fresh;
  };
  const key = { namespace: "default", name: "a" };
  const own = recordOf(selectionOf(pods, identity, pod, key, false), pod);
  t.equal(await freshOf(own), own, "what is up to date stays");
  t.equal(asked, 0, "and needs no kinds");
  t.equal(formOf(own.selection), behaviourOf(pods, identity).form);
  for (const mark of [[], [["", ""] as const]]) {
    const old = recordOf(encodeSelection("default", "a", new Map([["l", "1"]]), [["spec.old", "x"], ...mark]), pod);
    const fresh = decodeSelection(selectionSource(Uint8Array.from((await freshOf(old)).selection)), 0);
    t.same([fresh.namespace, fresh.name, fresh.labels], ["default", "a", [["l", "1"]]]);
    t.same(
      fresh.fields.find(([name]) => name === "spec.nodeName"),
      ["spec.nodeName", "n1"],
    );
    t.equal(
      fresh.fields.find(([name]) => name === "spec.old"),
      undefined,
    );
    t.equal(fresh.fields.at(-1)?.[0] === "", mark.length > 0, "what has yet to settle has yet to");
  }
  const claim = { ...own, prefix: "/registry/claims", selection: encodeSelection("", "a", undefined, []) };
  t.equal(await freshOf(claim), claim, "what is no object of a kind stays");
  t.equal(asked, 1);
});

t.test("kinds with selectable fields have a form, one for each list of fields", async (t) => {
  const stored = new Set(scheme.resources.flatMap(({ stored }) => stored ?? []));
  const forms = new Map<string, number>();
  for (const resource of stored) {
    const { form, strategy } = behaviourOf(resource, identity);
    t.equal(form === 0, strategy.selectableFields === undefined, resource.resource);
    if (form !== 0) forms.set(resource.resource, form);
  }
  t.equal(new Set(forms.values()).size, forms.size);
  t.ok(forms.size >= 8);
});
