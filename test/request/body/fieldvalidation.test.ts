import t from "tap";
import { openInProcess } from "../../support/inprocess.ts";

const base = "/api/v1/namespaces/default/configmaps";
const body = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","nam":1},"data":{"k":"1","k":"2"}}';
const strict =
  'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ' +
  'unknown field "metadata.nam", duplicate field "data.k"';

t.test("fieldValidation decides what becomes of unknown and duplicate fields of a body", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const refused = await server.call("POST", `${base}?fieldValidation=Strict`, body);
  t.match(refused.json, { code: 400, reason: "BadRequest", message: strict });
  const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\nfoo: 1\n";
  const refusedYaml = await server.call("POST", `${base}?fieldValidation=Strict`, yaml, {
    "content-type": "application/yaml",
  });
  t.match(refusedYaml.json, { code: 400, message: /strict decoding error: unknown field "foo"$/ });
  for (const query of ["", "?fieldValidation=Ignore", "?fieldValidation=Warn"]) {
    const answer = await server.call("POST", base + query, body);
    t.match(answer.json, { metadata: { name: "a" }, data: { k: "2" } }, "the last one wins");
    const warnings = answer.headers.filter(([name]) => name === "Warning").map(([, text]) => text);
    const expected = ['299 - "unknown field \\"metadata.nam\\""', '299 - "duplicate field \\"data.k\\""'];
    t.same(warnings, query.endsWith("Warn") ? expected : []);
    const replaced = await server.call("PUT", `${base}/a${query}`, body);
    t.equal(replaced.headers.filter(([name]) => name === "Warning").length, query.endsWith("Warn") ? 2 : 0);
    await server.call("DELETE", `${base}/a`);
  }
  t.match((await server.call("PUT", `${base}/a?fieldValidation=Strict`, body)).json, { code: 400, message: strict });
  t.equal((await server.call("POST", `${base}?fieldValidation=Odd`, body)).code, 422);
});

t.test("fieldValidation looks at what a patch makes of an object", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await server.call("POST", base, '{"metadata":{"name":"a"}}');
  const types = { json: "application/json-patch+json", merge: "application/merge-patch+json" };
  const table: [type: string, patch: string, fault: string][] = [
    [types.merge, '{"dat":{"x":"1"}}', 'unknown field "dat"'],
    [types.merge, '{"data":{"x":"1","x":"2"}}', 'duplicate field "data.x"'],
    [types.json, '[{"op":"add","path":"/dat","value":1}]', 'unknown field "dat"'],
    ["application/strategic-merge-patch+json", '{"metadata":{"label":{}}}', 'unknown field "metadata.label"'],
  ];
  for (const [type, patch, fault] of table) {
    const headers = { "content-type": type };
    const refused = await server.call("PATCH", `${base}/a?fieldValidation=Strict`, patch, headers);
    t.equal(refused.code, 422, patch);
    t.ok((refused.json as { message: string }).message.endsWith(`: strict decoding error: ${fault}`), refused.text);
    const warned = await server.call("PATCH", `${base}/a?fieldValidation=Warn`, patch, headers);
    t.equal(warned.code, 200);
    t.same(
      warned.headers.filter(([name]) => name === "Warning").map(([, text]) => text),
      [`299 - "${fault.replaceAll('"', '\\"')}"`],
    );
    t.equal(
      (await server.call("PATCH", `${base}/a`, patch, headers)).headers.some(([name]) => name === "Warning"),
      false,
    );
  }
});

t.test("fieldValidation of an apply tells of keys that come twice; unknown fields never fit", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const path = (validation: string) => `${base}/a?fieldManager=m&fieldValidation=${validation}`;
  const headers = { "content-type": "application/apply-patch+yaml" };
  const yaml = "apiVersion: v1\nkind: ConfigMap\ndata:\n  k: a\n  l: b\n  k: c\nmetadata:\n  name: a\n";
  const apply = (validation: string, body: string) => server.call("PATCH", path(validation), body, headers);
  const twice = 'error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key "k" already set in map';
  t.match((await apply("Strict", yaml)).json, { code: 400, message: `error strict decoding YAML: ${twice}` });
  const warned = await apply("Warn", yaml);
  t.equal(warned.json.data.k, "c");
  t.match(JSON.stringify(warned.headers), "already set in map");
  t.notMatch(JSON.stringify((await apply("Ignore", yaml)).headers), "already set");
  t.match(
    (await apply("Strict", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'))
      .code,
    400,
  );
  t.equal((await apply("Strict", yaml.replace("  k: a\n", ""))).code, 200);
  const unknown = await apply("Ignore", "apiVersion: v1\nkind: ConfigMap\ndat: {}\n");
  t.match(unknown.json, { code: 400, message: /\.dat: field not declared in schema/ });
});
