// Changes for tests of the storage engines and of what is built on them.
import { type Change, type ChangeType, changeTypes } from "../../src/storage/store.ts";

/** A change of a configmap-like object; `value` fills its body, `padding` bytes make it larger. */
export function change(
  type: keyof typeof changeTypes,
  key: string,
  expected: number,
  value = "",
  padding = 0,
  prefix = "/registry/configmaps",
): Change {
  const head = `{"kind":"ConfigMap","metadata":{"name":"x","resourceVersion":"`;
  const body = Buffer.from(`${head}"},"data":{"value":${JSON.stringify(value)},"padding":"${"p".repeat(padding)}"}}`);
  return {
    prefix,
    key: `${prefix}/${key}`,
    expected,
    type: changeTypes[type] satisfies ChangeType,
    selection: Buffer.from(`selection of ${key}`),
    body,
    versionAt: Buffer.byteLength(head),
  };
}

/** What a stored body says: its version and its value. */
export function readBody(body: Uint8Array): { version: string; value: string } {
  const object = JSON.parse(Buffer.from(body).toString()) as {
    metadata: { resourceVersion: string };
    data: { value: string };
  };
  return { version: object.metadata.resourceVersion, value: object.data.value };
}
