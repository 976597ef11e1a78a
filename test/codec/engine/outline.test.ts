// What is read of an outline is what is read of the whole, and what is written of it is what is written of the whole.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { messageOf, messages } from "../../../src/api/messages.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import { type Message, RawJson } from "../../../src/api/schema.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { readCanonical } from "../../../src/codec/engine/canonical.ts";
import { decode, encode, Fault, parseText } from "../../../src/codec/engine/json.ts";
import { outlineOf } from "../../../src/codec/engine/outline.ts";
import { type Parts, partsOf } from "../../../src/codec/engine/parts.ts";
import { strategyOf } from "../../../src/kinds/table.ts";
import { podOutline } from "../../../src/request/actions/binding.ts";
import { ObjectSource } from "../../support/objects.ts";
import { draws, fuzzRun } from "../../support/random.ts";

type Target = Record<string, unknown>;

function read(message: Message, text: string): Target {
  const value = parseText(text);
  const object = value instanceof Fault ? value : decode<Target>(message, value);
  if (object instanceof Fault) throw new Error(object.message);
  return object;
}

function parts(...paths: string[]): Parts {
  const found = partsOf(paths.map((path) => path.split(".")));
  if (found === undefined) throw new Error("A path is empty");
  return found;
}

t.test("an outline writes what the whole does, for objects of every kind", (t) => {
  const run = fuzzRun(20);
  const drawn = draws(run.seed);
  const source = new ObjectSource(drawn);
  let [tried, taken] = [0, 0];
  for (const message of messages.values()) {
    if (message.open === true || message.special !== undefined) continue;
    const fields = [...message.byJson.values()];
    const [first, second] = [drawn.pick(fields), drawn.pick(fields)];
    const inner = second?.cardinality === "one" ? [...(second.message?.byJson.keys() ?? [])] : [];
    if (first === undefined || second === undefined || first === second) continue;
    const path = inner.length === 0 ? second.json : `${second.json}.${drawn.pick(inner)}`;
    const outline = outlineOf(message, parts(first.json, path));
    for (let round = 0; round < run.rounds; round += 1) {
      const text = encode(message, read(message, source.json(message)));
      tried += 1;
      const object = readCanonical<Target>(outline, text);
      if (object !== undefined) taken += 1;
      // Whatever is left to the other reader is a value there.
      t.equal(encode(outline, object ?? read(outline, text)), text, `${message.name} ${path}`);
    }
  }
  t.ok(taken > tried / 2, `${taken} of ${tried} were taken`);
  t.end();
});

t.test("a binding's outline has all that side-tables of pods are made of", (t) => {
  const { kubernetes: identity } = identities;
  const pods = createScheme({ identity, runtimeConfig: new Map() }).find("", "v1", "pods");
  if (pods === undefined) throw new Error("There are no pods");
  const { message } = pods;
  const run = fuzzRun(500);
  const source = new ObjectSource(draws(run.seed));
  const fieldsOf = (object: object) => strategyOf(pods, identity).selectableFields?.(object as ApiObject);
  const check = (text: string): void => {
    t.strictSame(
      fieldsOf(readCanonical(podOutline, text) ?? read(podOutline, text)),
      fieldsOf(read(message, text)),
      text,
    );
  };
  check(encode(message, read(message, '{"status":{"podIPs":[{"ip":"1.2.3.4"}]}}')));
  for (let round = 0; round < run.rounds; round += 1) check(encode(message, read(message, source.json(message))));
  t.end();
});

t.test("an outline has the named fields and all scalars, and text of the others", (t) => {
  const pod = messageOf("core/v1.Pod");
  const outline = outlineOf(pod, parts("metadata", "spec.nodeName", "status.conditions"));
  const json = {
    metadata: { name: "p", labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "a b < é 🙂 \u2028" }], nodeSelector: { x: "y" }, schedulerName: "s" },
    status: { phase: "Pending", conditions: [{ type: "Ready", status: "False" }], podIPs: [{ ip: "1.2.3.4" }] },
  };
  const text = encode(pod, read(pod, JSON.stringify(json)));
  const object = readCanonical<Target>(outline, text);
  if (object === undefined) throw new Error("It is not read");
  const whole = read(pod, text);
  const [spec, status] = [object["spec"] as Target, object["status"] as Target];
  t.strictSame(object["metadata"], whole["metadata"]);
  t.strictSame(status["conditions"], (whole["status"] as Target)["conditions"]);
  t.equal(status["phase"], "Pending");
  t.equal(spec["schedulerName"], "s");
  for (const raw of [spec["containers"], spec["nodeSelector"], status["podIPs"]]) t.ok(raw instanceof RawJson);
  spec["nodeName"] = "n";
  (whole["spec"] as Target)["nodeName"] = "n";
  t.equal(encode(outline, object), encode(pod, whole), "a change is written between what stays");
  t.end();
});
