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
    [...readAdmissionFile(file(text), identities.kubernetes)],
    [
      ["PodNodeSelector", '{"podNodeSelectorPluginConfig":{"a":"x=y"}}'],
      ["EventRateLimit", '{"limits":[{"type":"Server","qps":1,"burst":2}]}'],
    ],
  );
  const json = '{"apiVersion":"apiserver.config.orch.io/v1","kind":"AdmissionConfiguration"}';
  t.equal(readAdmissionFile(file(json), identities.orch).size, 0);
  t.equal(readAdmissionFile("", identities.orch).size, 0);
});

t.test("readAdmissionFile() says in one line what is wrong", async (t) => {
  for (const [text, why] of [
    ["{", /^--admission-control-config-file .*: \S/],
    ["a: b", /it must be an AdmissionConfiguration of apiserver\.config\.k8s\.io\/v1$/],
    ["[]", /it is no AdmissionConfiguration$/],
    [`${head}  a: b`, /plugins must be a list$/],
    [`${head}- 1`, /an entry of plugins must be an object$/],
    [`${head}- path: x`, /a plugin without a name$/],
    [`${head}- name: constructor`, /there is no plugin "constructor"$/],
    [`${head}- name: EventRateLimit\n- name: EventRateLimit`, /plugin EventRateLimit is there twice$/],
    [`${head}- name: EventRateLimit\n  path: none.yaml`, /cannot read .*none\.yaml: no such file or directory$/],
    [`${head}- name: EventRateLimit\n  path: 1`, /path must be a text$/],
    [`${head}- name: EventRateLimit\n  configuration: []`, /its configuration must be an object$/],
    [
      `${head}- name: EventRateLimit\n  configuration: {limits: []}`,
      /plugin EventRateLimit: limits must not be empty$/,
    ],
    [`${head}- name: ServiceAccount\n  configuration: {a: b}`, /plugin ServiceAccount: it takes no settings$/],
  ] as const) {
    const read = (): unknown => readAdmissionFile(file(text), identities.kubernetes);
    t.throws(read, { name: "BootFault", message: why }, text);
  }
});
