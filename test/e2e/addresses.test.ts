// Service addresses on two fronts, through a crash: nobody gets what somebody has.
import t from "tap";
import { startServer } from "../support/server.ts";

const services = "/api/v1/namespaces/default/services";

t.test("two fronts never give out one address twice, not even around a crash", async (t) => {
  const flags = [
    "--front-workers=2",
    "--service-cluster-ip-range=10.7.0.0/28",
    "--service-node-port-range=30000-30013",
  ];
  let server = await startServer(flags);
  const make = (name: string, spec: object = {}) =>
    server.call("POST", services, { metadata: { name }, spec: { type: "NodePort", ports: [{ port: 80 }], ...spec } });
  const used = async (): Promise<string[]> => {
    const { items } = (await server.call("GET", services)).json as { items: Service[] };
    return items.flatMap(({ spec }) => [spec.clusterIP, String(spec.ports[0]?.nodePort)]);
  };
  try {
    const same = await Promise.all(["a", "b", "c", "d"].map((name) => make(name, { clusterIP: "10.7.0.5" })));
    t.strictSame(same.map(({ code }) => code).sort(), [201, 422, 422, 422]);
    const many = await Promise.all(Array.from({ length: 20 }, (_, index) => make(`s${index}`)));
    t.strictSame([...new Set(many.map(({ code }) => code))].sort(), [201, 500]);
    const all = await used();
    t.equal(all.length, 2 * 14);
    t.equal(new Set(all).size, all.length);

    await server.stop("SIGKILL", false);
    server = await startServer(flags, server.dir);
    t.strictSame((await used()).sort(), all.sort());
    t.equal((await make("late")).code, 500, "the range is still full");
    const [first] = ((await server.call("GET", services)).json as { items: Service[] }).items;
    await server.call("DELETE", `${services}/${first?.metadata.name}`);
    t.equal((await make("late")).json.spec.clusterIP, first?.spec.clusterIP);
  } finally {
    await server.stop();
  }
});

interface Service {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly nodePort?: number }[] };
}
