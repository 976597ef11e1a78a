// The endpoints of a running server's own service, and the lease that says that it lives: removed when it ends in order.
import t from "tap";
import { eventually, startServer } from "../support/server.ts";

t.setTimeout(240_000);

for (const [identity, domain, namespace] of [
  ["kubernetes", "k8s.io", "kube-system"],
  ["orch", "orch.io", "orch-system"],
] as const) {
  t.test(`${identity}: a server's lease stands from its start to its end in order`, async (t) => {
    const base = [`--identity=${identity}`, "--front-workers=1"];
    // A documentation address (RFC 5737).
    const flags = [...base, "--advertise-address=192.0.2.1", "--controllers=own-service"];
    const leases = `/apis/coordination.${domain}/v1/namespaces/${namespace}/leases`;
    const selector = `?labelSelector=${domain}/component=kube-apiserver`;
    let server = await startServer(flags);
    t.teardown(() => server.stop("SIGKILL"));
    const holders = async (): Promise<string[]> =>
      ((await server.call("GET", leases + selector)).json.items as { spec: { holderIdentity: string } }[]).map(
        ({ spec }) => spec.holderIdentity,
      );
    const ips = async (): Promise<unknown> =>
      (await server.call("GET", `/api/v1/namespaces/default/endpoints/${identity}`)).json.subsets?.[0]?.addresses;
    // Of one process, or of each of several.
    const count = server.parts.length;
    t.ok(await eventually(async () => (await holders()).length === count));
    t.ok(await eventually(async () => JSON.stringify(await ips()) === '[{"ip":"192.0.2.1"}]'));
    const first = await holders();
    await server.stop("SIGKILL", false);
    server = await startServer(flags, server.dir);
    t.ok(
      await eventually(async () => (await holders()).length === 2 * count),
      "the lease of the killed one has its time",
    );
    const now = await holders();
    t.ok(first.every((holder) => now.includes(holder)));
    t.strictSame(await ips(), [{ ip: "192.0.2.1" }]);
    await server.stop("SIGTERM", false);
    server = await startServer([...base, "--controllers="], server.dir);
    t.strictSame((await holders()).sort(), first.sort(), "the one that ended in order took its own along");
  });
}
