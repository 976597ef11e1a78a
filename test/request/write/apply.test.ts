// Server-side apply and field managers through the request path; the rules themselves are tested in test/merge.
import t from "tap";
import { type Answer, openInProcess } from "../../support/inprocess.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const applyType = { "content-type": "application/apply-patch+yaml" };

function managers({ json }: Answer): string {
  const entries = (json.metadata.managedFields ?? []) as { manager: string; operation: string }[];
  return entries.map(({ manager, operation }) => `${manager} ${operation}`).join("; ");
}

t.test("applyObject() creates, changes, refuses conflicts and takes by force", async (t) => {
  const server = await openInProcess();
  const apply = (query: string, data: unknown): Promise<Answer> => {
    const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data };
    return server.call("PATCH", `${maps}/a?${query}`, config, applyType);
  };
  const created = await apply("fieldManager=one", { x: "1", y: "1" });
  t.equal(created.code, 201);
  t.equal(managers(created), "one Apply");
  const again = await apply("fieldManager=one", { x: "1", y: "1" });
  t.equal(again.code, 200);
  t.strictSame(again.json, created.json, "the same again changes nothing");
  const refused = await apply("fieldManager=two", { x: "2" });
  t.equal(refused.code, 409);
  t.equal(refused.json.message, 'Apply failed with 1 conflict: conflict with "one": .data.x');
  t.strictSame(refused.json.details.causes, [
    { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".data.x" },
  ]);
  const forced = await apply("fieldManager=two&force=true", { x: "2" });
  t.strictSame(forced.json.data, { x: "2", y: "1" });
  t.equal(managers(forced), "one Apply; two Apply");
  const dropped = await apply("fieldManager=one", {});
  t.strictSame(dropped.json.data, { x: "2" });
  server.close();
});

t.test("applyObject() refuses what is no configuration of the object", async (t) => {
  const server = await openInProcess();
  const table: [what: string, path: string, body: unknown, expected: string][] = [
    [
      "no manager",
      `${maps}/a`,
      {},
      '422 PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
    [
      "no version",
      `${maps}/a?fieldManager=m`,
      {},
      "400 Incorrect version specified in apply patch. Specified patch version: , expected: v1",
    ],
    [
      "managers",
      `${maps}/a?fieldManager=m`,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { managedFields: [] } },
      "400 metadata.managedFields must be nil",
    ],
    [
      "unknown field",
      `${maps}/a?fieldManager=m`,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, bogus: 1 },
      "400 failed to create typed patch object (/a; /v1, Kind=ConfigMap): .bogus: field not declared in schema",
    ],
    [
      "no name",
      `${maps}/a?fieldManager=m`,
      { apiVersion: "v1", kind: "ConfigMap" },
      "400 the name of the object (a based on URL) was undeterminable: name must be provided",
    ],
    [
      "a uid",
      `${maps}/a?fieldManager=m`,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", uid: "u" } },
      '409 Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid u, and no existing object was found',
    ],
    [
      "a list",
      `${maps}/a?fieldManager=m`,
      [],
      "400 error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
    ],
  ];
  for (const [what, path, body, expected] of table) {
    const { code, json } = await server.call("PATCH", path, body as object, applyType);
    t.equal(`${code} ${json.message}`, expected, what);
  }
  server.close();
});

t.test("trackManagers() names the manager by the option or by the agent", async (t) => {
  const server = await openInProcess();
  const agents: [agent: string, expected: string][] = [
    ["tool/v1 (linux/amd64)", "tool"],
    ["", "unknown"],
    ["\u0001a\u0002b", "ab"],
    ["x".repeat(200), "x".repeat(128)],
  ];
  for (const [index, [agent, expected]] of agents.entries()) {
    const answer = await server.call(
      "POST",
      maps,
      { metadata: { name: `m${index}` }, data: { a: "1" } },
      { "user-agent": agent },
    );
    t.equal(managers(answer), `${expected} Update`, JSON.stringify(agent));
  }
  const named = await server.call(
    "POST",
    `${maps}?fieldManager=me`,
    { metadata: { name: "n" }, data: { a: "1" } },
    { "user-agent": "x" },
  );
  t.equal(managers(named), "me Update");
  const patched = await server.call(
    "PATCH",
    `${maps}/n?fieldManager=you`,
    { data: { a: "2" } },
    { "content-type": "application/merge-patch+json" },
  );
  t.equal(managers(patched), "me Update; you Update");
  const reset = await server.call(
    "PATCH",
    `${maps}/n`,
    { metadata: { managedFields: [{}] } },
    { "content-type": "application/merge-patch+json" },
  );
  t.equal(managers(reset), "");
  server.close();
});
