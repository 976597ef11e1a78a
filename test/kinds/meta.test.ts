// Every recorded create of areas 030 to 032 that carries nothing but metadata is judged here, where the recordings are.
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { type FieldError, invalidObject } from "../../src/api/fielderror.ts";
import { identities } from "../../src/api/identity.ts";
import type { ObjectMeta } from "../../src/api/object.ts";
import { createScheme } from "../../src/api/scheme.ts";
import type { StatusDetails } from "../../src/api/status.ts";
import { assert } from "../../src/base/assert.ts";
import { validateMeta, validateMetaUpdate } from "../../src/kinds/meta.ts";
import { metaRunsOf } from "../../src/kinds/metarules.ts";
import type { NameFormat } from "../../src/kinds/strategy.ts";
import { metaRulesOf } from "../../src/kinds/table.ts";

const identity = identities.kubernetes;
const scenarios = "../shared/transcripts/scenarios";

function messages(errors: readonly FieldError[]): string[] {
  return errors.map((error) => `${error.field}: ${error.text}`);
}

const base: ObjectMeta = { name: "a", namespace: "n" };
const creates: readonly [why: string, meta: ObjectMeta, namespaced: boolean, expected: readonly string[]][] = [
  ["a plain object", base, true, []],
  ["no name", { namespace: "n" }, true, ["metadata.name: Required value: name or generateName is required"]],
  ["no namespace", { name: "a" }, true, ["metadata.namespace: Required value"]],
  ["a namespace on a cluster kind", base, false, ["metadata.namespace: Forbidden: not allowed on this type"]],
  [
    "a negative generation",
    { ...base, generation: -1 },
    true,
    ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
  ],
  [
    "both finalizers of the collector",
    { ...base, finalizers: ["orphan", "foregroundDeletion"] },
    true,
    [
      'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set',
    ],
  ],
  ["annotations in upper case", { ...base, annotations: new Map([["UP.io/K", "v"]]) }, true, []],
  [
    "annotations over the limit",
    { ...base, annotations: new Map([["k", "x".repeat(262144)]]) },
    true,
    ["metadata.annotations: Too long: must have at most 262144 bytes"],
  ],
  [
    "special keys",
    { ...base, labels: new Map([["__proto__", "constructor"]]) },
    true,
    [
      "metadata.labels: Invalid value: \"__proto__\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
  [
    "managed fields",
    {
      ...base,
      managedFields: [{ operation: "x", fieldsType: "y", manager: "m".repeat(129), subresource: "s".repeat(257) }],
    },
    true,
    [
      'metadata.managedFields[0].operation: Invalid value: "x": must be `Apply` or `Update`',
      'metadata.managedFields[0].fieldsType: Invalid value: "y": must be `FieldsV1`',
      "metadata.managedFields[0].manager: Too long: must have at most 128 bytes",
      "metadata.managedFields[0].subresource: Too long: must have at most 256 bytes",
    ],
  ],
];

t.test("validateMeta() lists every fault of a new object", (t) => {
  for (const [why, meta, namespaced, expected] of creates) {
    t.strictSame(messages(validateMeta(meta, namespaced, "dns1123-subdomain", identity)), expected, why);
  }
  t.end();
});

t.test("validateMeta() knows the identity's own finalizer", (t) => {
  const meta = { ...base, finalizers: ["kubernetes"] };
  t.equal(validateMeta(meta, true, "dns1123-subdomain", identities.kubernetes).length, 0);
  t.equal(validateMeta(meta, true, "dns1123-subdomain", identities.orch).length, 1);
  t.end();
});

const stored: ObjectMeta = { ...base, uid: "u", generation: 2, creationTimestamp: "2000-01-01T00:00:00Z" };
const deleted: ObjectMeta = {
  ...stored,
  deletionTimestamp: "2000-01-02T00:00:00Z",
  deletionGracePeriodSeconds: 0,
  finalizers: ["x/a"],
};
const updates: readonly [why: string, meta: ObjectMeta, old: ObjectMeta, expected: readonly string[]][] = [
  ["no change", stored, stored, []],
  ["another uid", { ...stored, uid: "v" }, stored, ['metadata.uid: Invalid value: "v": field is immutable']],
  [
    "a deletion mark",
    { ...stored, deletionTimestamp: "2001-01-01T00:00:00Z" },
    stored,
    ["metadata.deletionTimestamp: Invalid value: 2001-01-01 00:00:00 +0000 UTC: field is immutable"],
  ],
  [
    "a lower generation",
    { ...stored, generation: 1 },
    stored,
    ["metadata.generation: Invalid value: 1: must not be decremented"],
  ],
  [
    "a grace period taken away",
    { ...deleted, deletionGracePeriodSeconds: 30n },
    deleted,
    ["metadata.deletionGracePeriodSeconds: Invalid value: 30: field is immutable"],
  ],
  ["finalizers in another order", { ...deleted, finalizers: [] }, deleted, []],
  [
    "a new finalizer while finalizing",
    { ...deleted, finalizers: ["x/c", "x/a", "x/b"] },
    deleted,
    [
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/b", "x/c"}',
    ],
  ],
];

t.test("validateMetaUpdate() reports a forbidden change as often as the kind's rules run", (t) => {
  for (const [why, meta, old, expected] of updates) {
    const change = (runs: readonly [number, number]) =>
      messages(validateMetaUpdate(meta, old, true, "dns1123-subdomain", identity, runs));
    t.strictSame(change([0, 1]), [...expected, ...expected], why);
    t.strictSame(change([1, 0]), expected, why);
  }
  t.end();
});

/** Faults of metadata that a change of a kind reports, with how often: read from upstream's answers. */
const repeated: readonly [resource: string, subresource: string, labels: number, finalizers: number][] = [
  ["configmaps", "", 4, 2],
  ["roles", "", 5, 3],
  ["deployments", "", 3, 1],
  ["cronjobs", "", 3, 1],
  ["cronjobs", "status", 2, 0],
  ["endpointslices", "", 3, 1],
  ["leases", "", 3, 0],
  ["poddisruptionbudgets", "", 2, 0],
  ["pods", "status", 3, 1],
  ["certificatesigningrequests", "approval", 4, 2],
];

t.test("a change tells of faults of metadata as often as upstream, by kind and part", (t) => {
  const scheme = createScheme({ identity });
  for (const [name, subresource, labels, finalizers] of repeated) {
    const resource = scheme.resources.find((each) => each.resource === name);
    assert(resource !== undefined, `${name} is served`);
    const rules = metaRulesOf(resource, identity);
    const meta = { ...stored, labels: new Map([["bad key", "v"]]), finalizers: ["plain"] };
    const runs = metaRunsOf(rules, subresource);
    const errors = validateMetaUpdate(meta, stored, true, "dns1123-subdomain", identity, runs, rules.anyFinalizer);
    const count = (field: string) => errors.filter((error) => error.field === field).length;
    t.strictSame([count("metadata.labels"), count("metadata.finalizers[0]")], [labels, finalizers], name + subresource);
  }
  t.end();
});

t.test("validateMeta() stays small however much is wrong", (t) => {
  const many = Array.from({ length: 20_000 }, (_, index) => String(index));
  const ownerReferences = many.map((uid) => ({
    apiVersion: "v1",
    kind: "Pod",
    name: uid.repeat(50),
    uid,
    controller: true,
  }));
  const labels = new Map(many.map((key) => [`!${key}`, "!"]));
  const errors = validateMeta({ ...base, labels, ownerReferences }, true, "dns1123-subdomain", identity);
  const status = invalidObject("", "Pod", "a", errors);
  t.equal(status.details?.causes?.length, 1000);
  t.ok(status.message.length < 10_000_000, `${status.message.length} characters`);
  t.end();
});

interface Step {
  readonly method?: string;
  readonly path?: string;
  readonly body?: { readonly kind?: string; readonly metadata?: Record<string, unknown>; readonly apiVersion?: string };
  readonly ignore?: readonly string[];
  readonly expect?: {
    readonly status: number;
    readonly json?: { readonly message?: string; readonly details?: object };
  };
}

/** A recording writes a long text as its letter and count. */
function expand(text: string): string {
  const match = /^\$\{(.)\*(\d+)\}$/.exec(text);
  return match === null ? text : (match[1] ?? "").repeat(Number(match[2]));
}

const formats = new Map<string, NameFormat>([
  ["Service", "dns1035-label"],
  ["Namespace", "dns1123-label"],
  ["Role", "path-segment"],
]);

t.test("validateMeta() answers the recorded creates as upstream", (t) => {
  for (const file of ["030-names-rules", "032-names-labels"]) {
    const path = `${scenarios}/${file}.json`;
    if (!existsSync(path)) continue;
    for (const step of (JSON.parse(readFileSync(path, "utf8")) as { steps: Step[] }).steps) {
      const body = step.body;
      if (step.method !== "POST" || step.expect?.status !== 422 || body?.metadata === undefined) continue;
      const { labels, annotations, ...rest } = body.metadata;
      const kind = body.kind ?? "";
      const meta: ObjectMeta = { ...(rest as ObjectMeta), ...(kind === "Namespace" ? {} : { namespace: "g" }) };
      if (labels) meta.labels = new Map(Object.entries(labels));
      if (annotations)
        meta.annotations = new Map(
          Object.entries(annotations as Record<string, string>).map(([key, value]) => [key, expand(value)]),
        );
      if (kind === "Namespace") meta.labels = new Map([["kubernetes.io/metadata.name", meta.name ?? ""]]);
      const errors = validateMeta(meta, kind !== "Namespace", formats.get(kind) ?? "dns1123-subdomain", identity);
      const group = kind === "Role" ? "rbac.authorization.k8s.io" : "";
      const status = invalidObject(group, kind, meta.name ?? "", errors);
      const plain = (text: string | undefined) => text?.replaceAll(/<ptr>|0xc0+/g, "p");
      t.equal(plain(status.message), plain(step.expect.json?.message));
      if (!step.ignore?.includes("details")) {
        const causes = (details: object | undefined) =>
          plain(JSON.stringify((details as StatusDetails | undefined)?.causes));
        t.equal(causes(status.details), causes(step.expect.json?.details));
      }
    }
  }
  t.end();
});
