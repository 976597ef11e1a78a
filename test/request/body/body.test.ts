import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { isStatus } from "../../../src/api/status.ts";
import { readBody } from "../../../src/request/body/body.ts";

const scheme = createScheme({ identity: identities.kubernetes });

/** The object's JSON-like name and data, or `code message`. */
function check(text: string, plural = "configmaps", format: "json" | "yaml" = "json"): string {
  const resource = scheme.find(plural === "deployments" ? "apps" : "", "v1", plural);
  if (resource === undefined) return "not served";
  const body = readBody(scheme, resource, Buffer.from(text), format);
  if (isStatus(body)) return `${body.code} ${body.message}`;
  const { kind, apiVersion, metadata } = body.take();
  return `${apiVersion} ${kind} ${metadata.name ?? ""}`;
}

t.test("readBody() frames a codec's fault as upstream does", (t) => {
  const unrecognized = "400 the object provided is unrecognized (must be of type ConfigMap): ";
  const parse = `${unrecognized}couldn't get version/kind; json parse error: `;
  const struct =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  const handled = "cannot be handled as a ConfigMap: ";
  const scheme100 = 'in scheme "pkg/runtime/scheme.go:100"';
  const table: [text: string, expected: string][] = [
    ['{"metadata":{"name":"a"}}', "v1 ConfigMap a"],
    ['{"kind":"ConfigMap","metadata":{"name":"a"}}', "v1 ConfigMap a"],
    ['{"apiVersion":"v1","metadata":{"name":"a"}}', "v1 ConfigMap a"],
    ['{"metadata":null}', "v1 ConfigMap "],
    ["null", "v1 ConfigMap "],
    ['{"Metadata":{"name":"a"}}', "v1 ConfigMap "],
    ["", `${parse}unexpected end of JSON input (<empty>)`],
    ["{", `${parse}unexpected end of JSON input ({)`],
    ["[]", `${parse}json: cannot unmarshal array into Go value of type ${struct} (5b5d)`],
    ['"x"', `${parse}json: cannot unmarshal string into Go value of type ${struct} (227822)`],
    [
      '{"kind":7,"metadata":{"name":"abcdefgh"}}',
      `${parse}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":7,"metadata":{"name":" ...)`,
    ],
    [
      '{"apiVersion":"a/b/c","kind":"ConfigMap"}',
      `${unrecognized}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)`,
    ],
    [
      '{"apiVersion":"v1","kind":"Secret"}',
      `400 Secret in version "v1" ${handled}converting (v1.Secret) to (core.ConfigMap): unknown conversion`,
    ],
    [
      '{"apiVersion":"v2"}',
      `400 ConfigMap in version "v2" ${handled}no kind "ConfigMap" is registered for version "v2" ${scheme100}`,
    ],
    [
      '{"apiVersion":"apps/v1"}',
      `400 ConfigMap in version "v1" ${handled}no kind "ConfigMap" is registered for version "apps/v1" ${scheme100}`,
    ],
    [
      '{"kind":"configmap"}',
      `400 configmap in version "v1" ${handled}no kind "configmap" is registered for version "v1" ${scheme100}`,
    ],
    [
      '{"data":{"a":1}}',
      `400 ConfigMap in version "v1" ${handled}json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
    ],
    [
      '{"metadata":{"name":"a"}} x',
      `${parse}invalid character 'x' after top-level value ({"metadata":{"name":"a"}} x)`,
    ],
  ];
  for (const [text, expected] of table) t.equal(check(text), expected, text);
  t.equal(check("metadata: {name: a}\n", "configmaps", "yaml"), "v1 ConfigMap a");
  t.match(check("kind: [unclosed\n", "configmaps", "yaml"), /^400 the object provided is unrecognized/);
  t.end();
});

t.test("Body.take() gives an object with no other reference", (t) => {
  const resource = scheme.find("", "v1", "configmaps");
  if (resource === undefined) throw new Error("Config maps are served");
  const body = readBody(scheme, resource, Buffer.from('{"metadata":{"name":"a","labels":{"l":"1"}}}'), "json");
  if (isStatus(body)) throw new Error(body.message);
  const first = body.take();
  first.metadata.labels?.set("l", "2");
  first.metadata.name = "b";
  const second = body.take();
  t.equal(second.metadata.name, "a");
  t.equal(second.metadata.labels?.get("l"), "1");
  t.end();
});
