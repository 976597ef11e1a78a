// proto/ is the truth: what is committed under src/api/gen must be what it says, and it must hold what the facts hold.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { generate } from "../../scripts/generate.ts";
import { parseProto } from "../../scripts/proto.ts";
import { kindData } from "../../src/api/gen/kinds.ts";
import { messageOf, messages } from "../../src/api/messages.ts";

/** The project's folder: tests run from dist/test/api. */
const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");

t.test("generate() gives what is committed under src/api/gen", async (t) => {
  const files = generate(join(root, "proto"));
  const dir = join(root, "src/api/gen");
  const committed = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  t.same(committed.sort(), [...files.keys()].sort());
  for (const [name, text] of files) t.ok(readFileSync(join(dir, name), "utf8") === text, `${name} is fresh`);
});

const faults: readonly (readonly [text: string, error: RegExp])[] = [
  ['syntax = "proto3";', /unexpected "proto3"/],
  ["message A { optional string a = 0; }", /unexpected 0/],
  ["message A { required string a = 1; }", /unexpected required/],
  ["message A {", /ends too early/],
  ["option (other.x) = true;", /unexpected other.x/],
  ["message A { optional string a = 1 }", /unexpected }/],
  ["message A { § }", /unexpected §/],
];

for (const [text, error] of faults) {
  t.test(`parseProto() refuses ${text}`, async (t) => {
    t.throws(() => parseProto("x.proto", text), error);
  });
}

t.test("parseProto() keeps order, numbers and repeated options", async (t) => {
  const file = parseProto(
    "x.proto",
    'syntax = "proto2"; package a.b; message M { option (orch.special) = "x"; // why\n' +
      'map<string, N> m = 2 [(orch.patch_strategy) = "merge", (orch.patch_strategy) = "retainKeys"]; repeated c.D d = 1; }',
  );
  const [first, second] = file.messages[0]?.fields ?? [];
  t.match(first, { label: "map", type: "a.b.N", name: "m", number: 2 });
  t.same(first?.options.get("patch_strategy"), ["merge", "retainKeys"]);
  t.match(second, { label: "repeated", type: "c.D", number: 1 });
});

t.test("messages links recursive types by reference", async (t) => {
  const props = messageOf("apiextensions/v1.JSONSchemaProps");
  t.equal(props.byJson.get("not")?.message, props);
  t.equal(messageOf("core/v1.Volume").byJson.get("configMap")?.message, messageOf("core/v1.ConfigMapVolumeSource"));
  t.equal(messages.get("__proto__"), undefined);
});

t.test("messages gives every field a number of its own", async (t) => {
  const doubled = [...messages.values()].filter((m) => new Set(m.fields.map((f) => f.number)).size < m.fields.length);
  t.same(
    doubled.map((message) => message.name),
    [],
  );
});

interface FactField {
  json: string | null;
  number?: number;
  inline?: boolean;
  omitempty?: boolean;
  required?: boolean;
  goPointer?: boolean;
  listMapKeys?: string[];
  patchMergeKey?: string;
  enum?: string[];
}

interface FactMessage {
  package: string;
  name: string;
  special?: string;
  fields: FactField[];
}

const facts = join(root, "../shared/facts/messages.json");
if (existsSync(facts)) {
  t.test("messages holds every message and field of the facts", async (t) => {
    const all = JSON.parse(readFileSync(facts, "utf8")) as FactMessage[];
    for (const fact of all) {
      const scalar = fact.special !== undefined && !fact.special.startsWith("JSONSchemaProps");
      if (scalar || fact.package.startsWith("k8s.io.apimachinery.pkg.util")) continue;
      const name = nameOf(fact);
      const fields = (messages.get(name)?.fields ?? []).map((field) => ({
        json: field.json,
        number: field.number,
        omitempty: field.omitEmpty,
        required: field.required,
        pointer: field.pointer,
        keys: field.listMapKeys,
        mergeKey: field.patchMergeKey,
        enum: field.enum,
      }));
      const want = fact.fields.map((f, index) => ({
        json: f.inline === true ? "" : (f.json ?? "items"),
        // What the facts leave open, proto/ decides.
        number: f.number ?? fields[index]?.number,
        omitempty: f.omitempty ?? fields[index]?.omitempty,
        required: f.required ?? fields[index]?.required,
        pointer: f.goPointer ?? fields[index]?.pointer,
        keys: f.listMapKeys ?? [],
        mergeKey: f.patchMergeKey,
        enum: f.enum ?? [],
      }));
      t.same(fields, want, name);
    }
    t.equal(kindData.length, 69);
  });
}

function nameOf({ package: of, name }: FactMessage): string {
  const version = of.slice(of.lastIndexOf(".") + 1);
  if (of.startsWith("k8s.io.apimachinery.pkg.apis.meta.")) return `meta/${version}.${name}`;
  if (of.startsWith("client.")) return `clientauthentication/${version}.${name}`;
  if (of.startsWith("k8s.io.apimachinery") || of === "version") return `${version}.${name}`;
  return `${of.split(".").at(-2)}/${version}.${name}`;
}
