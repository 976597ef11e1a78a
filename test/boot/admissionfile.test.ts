// The file with the settings of plugins: what is read, and the one line for each mistake.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { readAdmissionFile } from "../../src/boot/admissionfile.ts";

const dir = mkdtempSync(join(tmpdir(), "orch-admission-"));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

let count = 0;

function file(text: string): string {
  const path = join(dir, `f${count++}`);
  writeFileSync(path, text);
  return path;
}

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n";

t.test("readAdmissionFile() reads settings inline and from other files, YAML and JSON", async (t) => {
  writeFileSync(join(dir, "rates.json"), '{"limits": [{"type": "Server", "qps": 1, "burst": 2}]}');
  const text = `${head}- name: PodNodeSelector\n  configuration:\n    podNodeSelectorPluginConfig:\n      a: x=y\n- name: EventRateLimit\n  path: rates.json\n- name: ResourceQuota\n`;
  t.strictSame(
    [...(await readAdmissionFile(file(text), identities.kubernetes))],
    [
      ["PodNodeSelector", '{"podNodeSelectorPluginConfig":{"a":"x=y"}}'],
      ["EventRateLimit", '{"limits":[{"type":"Server","qps":1,"burst":2}]}'],
    ],
  );
  const json = '{"apiVersion":"apiserver.config.orch.io/v1","kind":"AdmissionConfiguration"}';
  t.equal((await readAdmissionFile(file(json), identities.orch)).size, 0);
  t.equal((await readAdmissionFile("", identities.orch)).size, 0);
});

t.test("readAdmissionFile() says in one line what is wrong", async (t) => {
  for (const [text, why] of [
    ["{", /^--admission-control-config-file .*: \S/],
    [
      "a: b",
      /: apiVersion: is missing; it must be one of apiserver\.config\.k8s\.io\/v1, .*; kind: is missing; it must be AdmissionConfiguration$/,
    ],
    ["[]", /: must be an object, not an empty list$/],
    [`${head}  a: b`, /: plugins: must be a list, not an object$/],
    [`${head}- 1`, /: plugins\[0\]: must be an object, not a number$/],
    [`${head}- path: x`, /: plugins\[0\]\.name: is missing; it must be a string that is not empty$/],
    [`${head}- name: constructor`, /: plugins\[0\]\.name: there is no plugin "constructor"; there are: AlwaysAdmit, /],
    [`${head}- name: EventRateLimit\n- name: EventRateLimit`, /: plugins\[1\]\.name: EventRateLimit is there twice$/],
    [`${head}- name: EventRateLimit\n  path: none.yaml`, /cannot read .*none\.yaml: no such file or directory$/],
    [`${head}- name: EventRateLimit\n  path: 1`, /: plugins\[0\]\.path: must be a string, not 1$/],
    [
      `${head}- name: EventRateLimit\n  configuration: []`,
      /: plugins\[0\]\.configuration: must be an object, not an empty list$/,
    ],
    [
      `${head}- name: EventRateLimit\n  configuration: {limits: []}`,
      /plugin EventRateLimit: limits: must be a list that is not empty, not an empty list$/,
    ],
    [
      `${head}- name: ImagePolicyWebhook\n  configuration: {imagePolicy: {kubeConfigFile: /none}}`,
      /plugin ImagePolicyWebhook: imagePolicy\.kubeConfigFile: cannot read \/none: /,
    ],
    [`${head}- name: ServiceAccount\n  configuration: {a: b}`, /plugin ServiceAccount: it takes no settings$/],
  ] as const) {
    await t.rejects(readAdmissionFile(file(text), identities.kubernetes), { name: "BootFault", message: why }, text);
  }
});
