import t from "tap";
import { answerHealth, type BootStep, bootSteps, createChecks, type HealthSources } from "../../src/observe/health.ts";

const well: HealthSources = {
  storage: () => Promise.resolve(undefined),
  hung: () => undefined,
  synced: () => true,
  done: () => true,
  unregistered: () => undefined,
  shuttingDown: () => false,
  kms: [],
};

const plain = { verbose: false, exclude: [], inGrace: false };

t.test("answerHealth() answers groups, single checks, verbose and exclude", async (t) => {
  const checks = createChecks(well);
  t.same(await answerHealth(checks, "/livez", plain), { code: 200, body: "ok" });
  t.same(await answerHealth(checks, "/readyz/shutdown", plain), { code: 200, body: "ok" });
  t.equal(answerHealth(checks, "/livez/shutdown", plain), undefined);
  t.equal(answerHealth(checks, "/livez/nope", plain), undefined);
  t.equal(answerHealth(checks, "/livez/", plain), undefined);
  t.equal(answerHealth(checks, "/other", plain), undefined);
  t.same(await answerHealth(checks, "/healthz/poststarthook/rbac/bootstrap-roles", plain), { code: 200, body: "ok" });
  const verbose = await answerHealth(checks, "/readyz", { ...plain, verbose: true, exclude: ["etcd", "nothing"] });
  t.match(
    verbose?.body,
    /^\[\+\]ping ok\n\[\+\]log ok\n\[\+\]etcd excluded: ok\n\[\+\]fronts ok\n\[\+\]informer-sync ok\n/,
  );
  t.match(
    verbose?.body,
    /\nwarn: some health checks cannot be excluded: no matches for "nothing"\nhealthz check passed\n$/,
    "the document's last line, on every endpoint",
  );
  t.match((await answerHealth(checks, "/livez", { ...plain, verbose: true }))?.body, /\nhealthz check passed\n$/);
});

t.test("answerHealth() has no check of what is not there", (t) => {
  const checks = createChecks(well);
  for (const step of ["priority-and-fairness-filter", "crd-informer-synced", "start-kube-aggregator-informers"])
    t.equal(answerHealth(checks, `/livez/poststarthook/${step}`, plain), undefined, step);
  t.end();
});

t.test("answerHealth() is 500 and withholds the reason when a check fails, unless that one is excluded", async (t) => {
  for (const [name, sources] of [
    ["etcd", { ...well, storage: () => Promise.resolve("disk on fire") }],
    ["fronts", { ...well, hung: () => "front-1 is on fire" }],
    ["autoregister-completion", { ...well, unregistered: () => "v1.fire" }],
  ] as const) {
    const checks = createChecks(sources);
    const answer = await answerHealth(checks, "/livez", plain);
    t.equal(answer?.code, 500);
    t.match(answer?.body, `[-]${name} failed: reason withheld\n`);
    t.notMatch(answer?.body, /fire/);
    t.equal((await answerHealth(checks, "/livez", { ...plain, exclude: [name] }))?.code, 200);
    t.equal((await answerHealth(checks, `/readyz/${name}`, plain))?.code, 500);
  }
});

t.test(
  "answerHealth() fails each step of the start that is not done, alone; livez waits for the grace period",
  async (t) => {
    for (const missing of bootSteps) {
      const checks = createChecks({ ...well, done: (step: BootStep) => step !== missing });
      for (const step of bootSteps) {
        const code = (await answerHealth(checks, `/readyz/poststarthook/${step}`, plain))?.code;
        t.equal(code, step === missing ? 500 : 200, `${step} without ${missing}`);
      }
      t.equal((await answerHealth(checks, "/livez", plain))?.code, 500);
      const inGrace = { ...plain, inGrace: true };
      t.equal((await answerHealth(checks, "/livez", inGrace))?.code, 200);
      t.equal((await answerHealth(checks, "/readyz", inGrace))?.code, 500);
    }
  },
);

t.test("answerHealth() turns readyz red and leaves livez green while shutting down", async (t) => {
  const checks = createChecks({ ...well, shuttingDown: () => true });
  t.equal((await answerHealth(checks, "/readyz", plain))?.code, 500);
  t.equal((await answerHealth(checks, "/livez", plain))?.code, 200);
});
