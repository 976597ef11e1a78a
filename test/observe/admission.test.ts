import t from "tap";
import { admissionMeter } from "../../src/observe/admission.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";

t.test("admissionMeter() counts by plugin, operation, half and outcome", async (t) => {
  const registry = new Registry();
  const took = admissionMeter(registry)("LimitRanger");
  took("admit", "create", false, 0.001);
  took("admit", "create", false, 0.2);
  took("validate", "delete", true, 3);
  took("validate", "constructor", true, 3);
  const text = exposition([registry.snapshot()]);
  const name = "apiserver_admission_controller_admission_duration_seconds";
  const of = (operation: string, rejected: boolean, type: string): string =>
    `name="LimitRanger",operation="${operation}",rejected="${rejected}",type="${type}"`;
  for (const line of [
    `# TYPE ${name} histogram`,
    `${name}_count{${of("CREATE", false, "admit")}} 2`,
    `${name}_bucket{${of("CREATE", false, "admit")},le="0.005"} 1`,
    `${name}_count{${of("DELETE", true, "validate")}} 1`,
  ]) {
    t.ok(text.includes(`${line}\n`), line);
  }
  t.equal(text.match(/_count\{/g)?.length, 2);
});
