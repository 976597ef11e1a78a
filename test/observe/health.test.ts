import t from "tap";
import { answerHealth, createChecks, type HealthSources } from "../../src/observe/health.ts";

const well: HealthSources = {
  storage: () => undefined,
  synced: () => true,
  bootstrapped: () => true,
  shuttingDown: () => false,
};

t.test("answerHealth() answers groups, single checks, verbose and exclude", (t) => {
  const checks = createChecks(well);
  t.same(answerHealth(checks, "/livez", false, []), { code: 200, body: "ok" });
  t.same(answerHealth(checks, "/readyz/shutdown", false, []), { code: 200, body: "ok" });
  t.equal(answerHealth(checks, "/livez/shutdown", false, []), undefined);
  t.equal(answerHealth(checks, "/livez/nope", false, []), undefined);
  t.equal(answerHealth(checks, "/livez/", false, []), undefined);
  t.equal(answerHealth(checks, "/other", false, []), undefined);
  t.same(answerHealth(checks, "/healthz/poststarthook/rbac/bootstrap-roles", false, []), { code: 200, body: "ok" });
  const verbose = answerHealth(checks, "/readyz", true, ["etcd", "nothing"]);
  t.match(verbose?.body, /^\[\+\]ping ok\n\[\+\]log ok\n\[\+\]etcd excluded: ok\n\[\+\]informer-sync ok\n/);
  t.match(
    verbose?.body,
    /\nwarn: some health checks cannot be excluded: no matches for "nothing"\nreadyz check passed\n$/,
  );
  t.end();
});

t.test("answerHealth() is 500 and withholds the reason when a check fails, unless that one is excluded", (t) => {
  const checks = createChecks({ ...well, storage: () => "disk on fire" });
  const answer = answerHealth(checks, "/livez", false, []);
  t.equal(answer?.code, 500);
  t.match(answer?.body, /\[-\]etcd failed: reason withheld\n/);
  t.notMatch(answer?.body, /fire/);
  t.equal(answerHealth(checks, "/livez", false, ["etcd"])?.code, 200);
  t.equal(answerHealth(checks, "/readyz/etcd", false, [])?.code, 500);
  t.end();
});

t.test("answerHealth() turns readyz red and leaves livez green while shutting down", (t) => {
  const checks = createChecks({ ...well, shuttingDown: () => true });
  t.equal(answerHealth(checks, "/readyz", false, [])?.code, 500);
  t.equal(answerHealth(checks, "/livez", false, [])?.code, 200);
  t.end();
});
