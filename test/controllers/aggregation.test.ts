import t, { type Test } from "tap";
import { AggregationController } from "../../src/controllers/aggregation.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const api = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

function rule(verb: string, resource: string): object {
  return { verbs: [verb], apiGroups: [""], resources: [resource] };
}

function gathers(...labels: string[]): object {
  return { aggregationRule: { clusterRoleSelectors: labels.map((label) => ({ matchLabels: { [label]: "true" } })) } };
}

async function open(
  t: Test,
): Promise<{ server: InProcess; rules: (name: string, wanted: object[] | null) => Promise<void> }> {
  const server = await openInProcess();
  const roles = new AggregationController(server.server);
  const controller = reconcilerOf(roles, server.server.clock, (message) => void t.fail(message));
  t.teardown(() => {
    void controller.stop();
    server.close();
  });
  controller.start();
  // Nothing else rings: views of a server without sockets are drained by whoever asks.
  const rules = async (name: string, wanted: object[] | null): Promise<void> => {
    let found: unknown;
    const settled = await until(async () => {
      roles.all(controller);
      await controller.idle();
      found = (await server.call("GET", `${api}/${name}`)).json.rules;
      return JSON.stringify(found) === JSON.stringify(wanted);
    }, 2000);
    t.ok(settled, `${name}: ${JSON.stringify(found)}`);
  };
  return { server, rules };
}

t.test("an aggregated role gets the rules of those it selects, in order, each once", async (t) => {
  const { server, rules } = await open(t);
  const create = async (name: string, labels: string[], rest: object): Promise<void> => {
    const metadata = { name, labels: Object.fromEntries(labels.map((label) => [label, "true"])) };
    t.equal((await server.call("POST", api, { metadata, ...rest })).code, 201);
  };
  await create("top", [], gathers("to-mid", "to-top"));
  await create("mid", ["to-top"], gathers("to-mid"));
  await create("b", ["to-mid"], { rules: [rule("get", "pods"), rule("get", "nodes")] });
  await create("a", ["to-mid", "to-top"], { rules: [rule("get", "pods"), rule("list", "pods")] });
  await create("other", ["x"], { rules: [rule("*", "secrets")] });
  const mid = [rule("get", "pods"), rule("list", "pods"), rule("get", "nodes")];
  await rules("mid", mid);
  await rules("top", mid);
  await create("c", ["to-top"], { rules: [rule("watch", "pods")] });
  await rules("top", [...mid, rule("watch", "pods")]);
  await server.call("DELETE", `${api}/b`);
  await rules("top", [...mid.slice(0, 2), rule("watch", "pods")]);
  await rules("other", [rule("*", "secrets")]);
});

t.test("rules written into an aggregated role by hand stay only while it gathers none", async (t) => {
  const { server, rules } = await open(t);
  const own = [rule("*", "secrets")];
  await server.call("POST", api, { metadata: { name: "r" }, rules: own, ...gathers("constructor") });
  await rules("r", own);
  const labels = { constructor: "true" };
  await server.call("POST", api, { metadata: { name: "part", labels }, rules: [rule("get", "pods")] });
  await rules("r", [rule("get", "pods")]);
  await server.call("PATCH", `${api}/r`, { rules: own }, { "content-type": "application/merge-patch+json" });
  await rules("r", [rule("get", "pods")]);
  await server.call("DELETE", `${api}/part`);
  await rules("r", null);
  await server.call("PUT", `${api}/r`, { metadata: { name: "r" }, rules: [rule("get", "pods")] });
  await rules("r", [rule("get", "pods")]);
});

t.test("rules that a former release gathered go with the last part", async (t) => {
  const { server, rules } = await open(t);
  const former = `${api}?fieldManager=clusterrole-aggregation-controller`;
  const made = await server.call("POST", former, { metadata: { name: "r" }, rules: [rule("*", "*")], ...gathers("x") });
  t.equal(made.json.metadata.managedFields[0].operation, "Update");
  await rules("r", null);
});
