// --tracing-config-file: what it says, and the one line for each mistake.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { readTracingFile } from "../../../src/boot/tracing/tracingfile.ts";

const dir = mkdtempSync(join(tmpdir(), "orch-tracing-"));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

const path = join(dir, "tracing.yaml");
const on = new Set(["APIServerTracing"]);

function read(text: string, identity: "kubernetes" | "orch" = "kubernetes", gates: ReadonlySet<string> = on) {
  writeFileSync(path, text);
  return readTracingFile(path, identities[identity], gates);
}

const head = "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: TracingConfiguration\n";

t.test("readTracingFile() reads endpoint and rate, which have defaults", async (t) => {
  t.same(await read(`${head}endpoint: collector:4317\nsamplingRatePerMillion: 2500\n`), {
    endpoint: "collector:4317",
    ratio: 0.0025,
  });
  t.same(await read(head), { endpoint: "localhost:4317", ratio: 0 });
  t.same(await read(head.replace("k8s", "orch"), "orch"), { endpoint: "localhost:4317", ratio: 0 });
  for (const endpoint of ["dns:///collector:4317", "unix:///run/otel.sock", "10.0.0.1:4317"])
    t.match(await read(`${head}endpoint: ${endpoint}\n`), { endpoint });
  t.equal(await readTracingFile("", identities.kubernetes, new Set()), undefined);
});

t.test("readTracingFile() says in one line what is wrong", async (t) => {
  const cases: readonly [text: string, why: RegExp][] = [
    [`${head}samplingRate: 1\n`, /samplingRate/],
    [`${head}samplingRatePerMillion: 1000001\n`, /samplingRatePerMillion: .*1000000/],
    [`${head}samplingRatePerMillion: -1\n`, /samplingRatePerMillion: /],
    [`${head}samplingRatePerMillion: "5"\n`, /samplingRatePerMillion: /],
    [`${head}endpoint: http://collector:4317\n`, /endpoint: .*host:port/],
    [head.replace("v1alpha1", "v1"), /apiVersion: .*v1alpha1/],
    [head.replace("Tracing", "Admission"), /kind: .*TracingConfiguration/],
    ["{", /^--tracing-config-file .*: \S/],
  ];
  for (const [text, why] of cases) {
    const fault = await read(text).then(
      () => "none",
      (error: Error) => error.message,
    );
    t.match(fault, why);
    t.notMatch(fault, "\n");
  }
  await t.rejects(read(head, "orch"), /apiserver\.config\.orch\.io/);
  await t.rejects(read(head, "kubernetes", new Set()), /needs --feature-gates=APIServerTracing=true/);
  rmSync(path);
  await t.rejects(readTracingFile(path, identities.kubernetes, on), /cannot read --tracing-config-file/);
});
