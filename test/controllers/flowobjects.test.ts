// Built-in flow schemas and priority levels, and the condition Dangling.
import type { Test } from "tap";
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import { FlowObjects } from "../../src/controllers/flowobjects.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const merge = { "content-type": "application/merge-patch+json" };

/** A server with the controller, its objects made. */
class Kept {
  readonly server: InProcess;
  readonly base: string;
  readonly annotation: string;
  readonly faults: string[] = [];
  readonly #reconciler: Reconciler;

  constructor(server: InProcess) {
    this.server = server;
    const { spell } = server.scheme.identity;
    this.base = `/apis/${spell("flowcontrol.apiserver.k8s.io")}/v1beta2`;
    this.annotation = spell("apf.kubernetes.io/autoupdate-spec");
    const controller = FlowObjects.open(server.server);
    if (controller === undefined) throw new Error("The kinds are served");
    this.#reconciler = reconcilerOf(controller, server.server.clock, (message) => this.faults.push(message));
    this.#reconciler.start();
  }

  idle(): Promise<void> {
    return this.#reconciler.idle();
  }

  /** A minute later. */
  async minute(): Promise<void> {
    const { changes } = this.server.store;
    const before = changes.length;
    this.server.aheadMs += limits.flowObjectsMs;
    await until(() => changes.length > before, 2_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await this.idle();
  }

  async get(path: string) {
    return (await this.server.call("GET", `${this.base}/${path}`)).json;
  }

  patch(path: string, patch: unknown) {
    return this.server.call("PATCH", `${this.base}/${path}`, JSON.stringify(patch), merge);
  }

  annotated(value: string | null): object {
    return { metadata: { annotations: { [this.annotation]: value } } };
  }

  async stop(): Promise<void> {
    await this.#reconciler.stop();
    this.server.close();
  }
}

async function kept(t: Test, identity: "kubernetes" | "orch" = "kubernetes"): Promise<Kept> {
  const all = new Kept(await openInProcess(identity));
  await all.idle();
  t.teardown(() => all.stop());
  return all;
}

t.test("built-in objects exist from the start, in the identity's names", async (t) => {
  for (const identity of ["kubernetes", "orch"] as const) {
    const all = await kept(t, identity);
    const { spell } = all.server.scheme.identity;
    const schemas = (await all.get("flowschemas")).items;
    t.equal(schemas.length, 12);
    t.equal((await all.get("prioritylevelconfigurations")).items.length, 8);
    const own = await all.get(`flowschemas/${spell("kube-system-service-accounts")}`);
    t.equal(own.spec.rules[0].subjects[0].serviceAccount.namespace, spell("kube-system"));
    t.equal(own.metadata.annotations[all.annotation], "true");
    t.ok(await until(async () => (await all.get("flowschemas/probes")).status.conditions?.[0].reason === "Found"));
    t.same(all.faults, []);
  }
});

t.test("what is missing is made, mandatory objects are put right, others as their annotation says", async (t) => {
  const all = await kept(t);
  const level = (name: string): string => `prioritylevelconfigurations/${name}`;
  const shares = (assuredConcurrencyShares: number) => ({ spec: { limited: { assuredConcurrencyShares } } });
  await all.server.call("DELETE", `${all.base}/flowschemas/exempt`);
  await all.server.call("DELETE", `${all.base}/${level("workload-low")}`);
  await all.patch(level("catch-all"), { ...shares(6), ...all.annotated("false") });
  await all.patch(level("system"), shares(31));
  await all.patch(level("workload-high"), { ...shares(41), ...all.annotated("false") });
  await all.patch(level("global-default"), { ...shares(21), ...all.annotated(null) });
  await all.patch(level("node-high"), all.annotated("maybe"));
  const stray = (name: string, value: string) => ({
    metadata: { name, ...(all.annotated(value) as { metadata: object }).metadata },
    spec: { type: "Limited", limited: { assuredConcurrencyShares: 1, limitResponse: { type: "Reject" } } },
  });
  await all.server.call("POST", `${all.base}/prioritylevelconfigurations`, stray("stray", "true"));
  await all.server.call("POST", `${all.base}/prioritylevelconfigurations`, stray("mine", "false"));
  await all.minute();
  const sharesOf = async (name: string): Promise<[number, string]> => {
    const { spec, metadata } = await all.get(level(name));
    return [spec.limited.assuredConcurrencyShares, metadata.annotations[all.annotation]];
  };
  t.equal((await all.get("flowschemas/exempt")).spec.matchingPrecedence, 1);
  t.same(await sharesOf("workload-low"), [100, "true"]);
  t.same(await sharesOf("catch-all"), [5, "true"]);
  t.same(await sharesOf("system"), [30, "true"]);
  t.same(await sharesOf("workload-high"), [41, "false"]);
  t.same(await sharesOf("global-default"), [21, "false"], "edited, and it does not say whose it is");
  t.same(await sharesOf("node-high"), [40, "true"]);
  t.equal((await all.get(level("stray"))).code, 404);
  t.same(await sharesOf("mine"), [1, "false"]);
  t.same(all.faults, []);
});

t.test("Dangling says whether a schema's level exists, whoever writes something else", async (t) => {
  const all = await kept(t);
  const conditions = async () => (await all.get("flowschemas/f")).status.conditions ?? [];
  const says = (status: string) => until(async () => (await conditions())[0]?.status === status);
  await all.server.call("POST", `${all.base}/flowschemas`, {
    metadata: { name: "f" },
    spec: {
      matchingPrecedence: 7,
      priorityLevelConfiguration: { name: "l" },
      rules: [
        {
          subjects: [{ kind: "User", user: { name: "u" } }],
          nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
        },
      ],
    },
  });
  t.ok(await says("True"));
  await all.server.call("POST", `${all.base}/prioritylevelconfigurations`, {
    metadata: { name: "l" },
    spec: { type: "Limited", limited: { assuredConcurrencyShares: 1, limitResponse: { type: "Reject" } } },
  });
  t.ok(await says("False"));
  t.equal(
    (await conditions())[0].message,
    'This FlowSchema references the PriorityLevelConfiguration object named "l" and it exists',
  );
  await all.patch("flowschemas/f/status", {
    status: {
      conditions: [
        { type: "Other", status: "True" },
        { type: "Dangling", status: "True", reason: "Mine" },
      ],
    },
  });
  t.ok(await until(async () => (await conditions()).length === 1));
  await all.server.call("DELETE", `${all.base}/prioritylevelconfigurations/l`);
  t.ok(await says("True"));
  t.same(all.faults, []);
});
