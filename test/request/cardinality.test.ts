// Nothing a client says becomes a series of its own (ATTACKS C04).
import t from "tap";
import { createLog } from "../../src/observe/log.ts";
import { Registry } from "../../src/observe/metrics.ts";
import { createObserver } from "../../src/observe/requests.ts";
import { openInProcess } from "../support/inprocess.ts";

const requests = 20_000;

t.test("series are as many after 20,000 distinct agents, methods and paths as after a few", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const registry = new Registry();
  server.observer = createObserver(registry, createLog("fatal", "test"));
  const series = (): number => registry.snapshot().reduce((count, family) => count + family.keys.length, 0);
  const ask = (i: number): Promise<unknown> => {
    const paths = [
      `/api/v1/namespaces/n${i}/configmaps/m${i}`,
      `/api/v1/namespaces/default/things${i}`,
      `/apis/group${i}.example.com/v1/things`,
      `/apis/apps/v${i}/deployments`,
      `/api/v1/namespaces/default/pods/p/sub${i}`,
      `/path${i}`,
      `/healthz/check${i}`,
    ];
    const methods = ["GET", `METHOD${i}`, "PATCH", `get${i}`, "DELETE"];
    const query = `?fieldManager=m${i}&dryRun=d${i}&key${i}=1&labelSelector=l${i}&resourceVersion=${i % 3}`;
    return server.call(
      methods[i % methods.length] ?? "",
      `${paths[i % paths.length]}${query}`,
      i % 2 === 0 ? "{}" : undefined,
      {
        "user-agent": `agent/${i}`,
        "content-type": `application/x-${i}`,
        accept: i % 5 === 0 ? `application/y-${i}` : "*/*",
        authorization: `Bearer ${i}`,
      },
    );
  };
  const few = 7 * 5 * 2 * 3 * 5;
  for (let i = 0; i < few; i++) await ask(i);
  const before = series();
  for (let i = few; i < requests; i++) await ask(i);
  t.equal(series(), before, `${before} series`);
  t.ok(before < 1000, "and they are few");
  t.strictSame(server.faults, []);
});
