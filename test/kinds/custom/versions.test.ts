import t from "tap";
import type { CustomResourceDefinition } from "../../../src/api/gen/apiextensions/v1.ts";
import { settle } from "../../../src/kinds/custom/schema.ts";
import { compileVersions } from "../../../src/kinds/custom/versions.ts";
import { load } from "../load.ts";
import { documentOf, identity } from "./build.ts";

t.test("compileVersions() has all that serving a version takes, and shares what versions have in common", (t) => {
  const properties = { spec: { type: "object", properties: { n: { type: "integer" } } } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  const scale = { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" };
  const { spec } = load<CustomResourceDefinition>("apiextensions/v1.CustomResourceDefinition", {
    spec: {
      versions: [
        { name: "v1", schema, additionalPrinterColumns: [{ name: "N", type: "integer", jsonPath: ".spec.n" }] },
        { name: "v2", schema, subresources: { scale } },
        { name: "v3" },
      ],
    },
  });
  const [v1, v2, v3] = compileVersions(spec, identity);
  t.equal(v1?.schema.root, v2?.schema.root);
  t.equal(
    v1?.columns.columns[1]?.cell(documentOf('{"spec":{"n":3}}'), () => 0),
    3,
  );
  t.equal(v1?.scale, undefined);
  t.match(v2?.scale, { specReplicas: ["spec", "n"], labelSelector: undefined });
  t.equal(v1?.mergeType(), v1?.mergeType());
  const anything = documentOf('{"x":{"y":null}}');
  t.ok(v3);
  if (v3 !== undefined) t.strictSame(settle(v3.schema, anything).dropped, []);
  t.equal((anything.get("x") as Map<string, unknown>).has("y"), true);
  t.strictSame(v1?.ruleFaults(anything, undefined), []);
  t.end();
});
