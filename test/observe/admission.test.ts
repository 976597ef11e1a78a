// Metrics of admission by upstream's names: what plugins take, what a whole run takes, what webhooks answer.
import t, { type Test } from "tap";
import { admissionMeter } from "../../src/observe/admission.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";

let nowMs = 0;
const clock = { now: () => nowMs, monotonic: () => nowMs };

function has(t: Test, text: string, lines: readonly string[]): void {
  for (const line of lines) t.ok(text.includes(`${line}\n`), line);
}

t.test("admissionMeter() counts plugins by name, operation, half and outcome", async (t) => {
  const registry = new Registry();
  const took = admissionMeter(registry, clock).plugin("LimitRanger");
  took("admit", "create", false, 0.001);
  took("admit", "create", false, 0.2);
  took("validate", "delete", true, 3);
  took("validate", "constructor", true, 3);
  const text = exposition([registry.snapshot()]);
  const name = "apiserver_admission_controller_admission_duration_seconds";
  const of = (operation: string, rejected: boolean, type: string): string =>
    `name="LimitRanger",operation="${operation}",rejected="${rejected}",type="${type}"`;
  has(t, text, [
    `# TYPE ${name} histogram`,
    `${name}_count{${of("CREATE", false, "admit")}} 2`,
    `${name}_bucket{${of("CREATE", false, "admit")},le="0.005"} 1`,
    `${name}_count{${of("DELETE", true, "validate")}} 1`,
  ]);
  t.equal(text.match(/_count\{/g)?.length, 2);
});

t.test("admissionMeter() counts whole runs of all threads, and quantiles of the last hours", async (t) => {
  const registries = [new Registry(), new Registry()];
  const [first, second] = registries.map((registry) => admissionMeter(registry, clock).step);
  for (let i = 1; i <= 90; i++) first?.("admit", "create", false, 0.001);
  for (let i = 1; i <= 10; i++) second?.("admit", "create", false, 0.1);
  const shown = (): string => exposition(registries.map((registry) => registry.snapshot()));
  const name = "apiserver_admission_step_admission_duration_seconds";
  const of = 'operation="CREATE",rejected="false",type="admit"';
  const text = shown();
  has(t, text, [
    `# TYPE ${name} histogram`,
    `${name}_bucket{${of},le="0.005"} 90`,
    `${name}_bucket{${of},le="0.1"} 100`,
    `${name}_count{${of}} 100`,
    `# TYPE ${name}_summary summary`,
    `${name}_summary_count{${of}} 100`,
  ]);
  const quantile = (at: number): number =>
    Number(new RegExp(`${name}_summary\\{${of},quantile="${at}"\\} (\\S+)`).exec(shown())?.[1]);
  t.ok(Math.abs(quantile(0.5) / 0.001 - 1) < 0.11, `${quantile(0.5)}`);
  t.ok(Math.abs(quantile(0.9) / 0.001 - 1) < 0.11, `${quantile(0.9)}`);
  t.ok(Math.abs(quantile(0.99) / 0.1 - 1) < 0.11, `${quantile(0.99)}`);
  // Half the time on it is still told of; after as much again it is not.
  nowMs += 9_000_000;
  first?.("admit", "create", false, 2);
  t.ok(Math.abs(quantile(0.5) / 0.001 - 1) < 0.11);
  nowMs += 9_000_000;
  shown();
  nowMs += 9_000_000;
  t.ok(Number.isNaN(quantile(0.5)), "nothing happened for so long");
  has(t, shown(), [`${name}_summary_count{${of}} 101`]);
  for (const odd of [0, -1, 1e9, Number.MIN_VALUE]) first?.("admit", "create", false, odd);
  t.notOk(shown().includes("undefined"));
});

t.test("admissionMeter() counts webhooks by what came of them", async (t) => {
  const registry = new Registry();
  const { webhook } = admissionMeter(registry, clock);
  const hook = { name: "a.example.com", type: "validating", operation: "create" } as const;
  webhook.asked(hook, 200, undefined, 0.01);
  webhook.asked(hook, 403, "no_error", 0.01);
  webhook.asked(hook, 99_999, "calling_webhook_error", 2);
  webhook.asked(hook, 503, undefined, 1);
  webhook.failedOpen(hook);
  const prefix = "apiserver_admission_webhook";
  const of = (code: number, rejected: boolean): string =>
    `code="${code}",name="a.example.com",operation="CREATE",rejected="${rejected}",type="validating"`;
  has(t, exposition([registry.snapshot()]), [
    `# TYPE ${prefix}_admission_duration_seconds histogram`,
    `${prefix}_admission_duration_seconds_count{name="a.example.com",operation="CREATE",rejected="true",type="validating"} 2`,
    `${prefix}_request_total{${of(200, false)}} 1`,
    `${prefix}_request_total{${of(403, true)}} 1`,
    `${prefix}_request_total{${of(600, true)}} 1`,
    `${prefix}_request_total{${of(503, false)}} 1`,
    `${prefix}_rejection_count{error_type="no_error",name="a.example.com",operation="CREATE",rejection_code="403",type="validating"} 1`,
    `${prefix}_rejection_count{error_type="calling_webhook_error",name="a.example.com",operation="CREATE",rejection_code="600",type="validating"} 1`,
    `${prefix}_fail_open_count{name="a.example.com",type="validating"} 1`,
  ]);
});
