// What one front thread has acknowledged counts on all of them at once: rights and tokens that come and go, asked about
// on many connections (ATTACKS E11, E15). On all threads of another server of the store it counts when that has seen it.
import { Agent, request } from "node:https";
import t, { type Test } from "tap";
import { startServer, type TestServer } from "../support/server.ts";

const rounds = 40;
const connections = 8;
const apiGroup = "rbac.authorization.k8s.io";
const bindings = `/apis/${apiGroup}/v1/namespaces/default/rolebindings`;
const accounts = "/api/v1/namespaces/default/serviceaccounts";
const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const resourceAttributes = { namespace: "default", verb: "get", resource: "pods" };

/** Asks on every connection at once; each has an agent of its own. */
function everywhere(
  server: TestServer,
  agents: readonly Agent[],
  headers: Record<string, string>,
  method: string,
  path: string,
  body: string,
): Promise<{ code: number; text: string }[]> {
  const one = (agent: Agent): Promise<{ code: number; text: string }> =>
    new Promise((resolve, reject) => {
      const sent = request(server.base + path, { method, agent, headers }, (answer) => {
        let text = "";
        answer.on("data", (chunk: Buffer) => (text += chunk.toString()));
        answer.on("end", () => resolve({ code: answer.statusCode ?? 0, text }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  return Promise.all(agents.map(one));
}

async function open(t: Test, front: string): Promise<{ server: TestServer; agents: Agent[] }> {
  const server = await startServer(["--identity=kubernetes", `--front=${front}`, "--front-workers=2"]);
  const agents = Array.from(
    { length: connections },
    () => new Agent({ keepAlive: true, maxSockets: 1, ca: server.ca }),
  );
  t.teardown(async () => {
    for (const agent of agents) agent.destroy();
    await server.stop("SIGKILL");
  });
  return { server, agents };
}

for (const front of ["uws", "node"]) {
  t.test(`E15: ${front}: reviews tell of a binding from its acknowledgement to its end, on every thread`, async (t) => {
    const { server, agents } = await open(t, front);
    const headers = {
      authorization: `Bearer ${server.token}`,
      "impersonate-user": "bob",
      "content-type": "application/json",
    };
    const may = async (): Promise<string> => {
      const body = JSON.stringify({ spec: { resourceAttributes } });
      const answers = await everywhere(server, agents, headers, "POST", reviews, body);
      return [...new Set(answers.map(({ code, text }) => `${code} ${JSON.parse(text).status?.allowed}`))].join();
    };
    const binding = {
      metadata: { name: "b" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "view" },
      subjects: [{ apiGroup, kind: "User", name: "bob" }],
    };
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round++) {
      await server.call("POST", bindings, binding);
      await server.caughtUp();
      const before = await may();
      await server.call("DELETE", `${bindings}/b`);
      await server.caughtUp();
      const after = await may();
      if (before !== "201 true" || after !== "201 false") wrong.push(`${before}, then ${after}`);
    }
    t.same(wrong, []);
  });

  t.test(`E11: ${front}: a token ends with its account on every thread at once`, async (t) => {
    const { server, agents } = await open(t, front);
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const name = `robot-${round}`;
      await server.call("POST", accounts, { metadata: { name } });
      const { token } = (await server.call("POST", `${accounts}/${name}/token`, {})).json.status;
      await server.caughtUp();
      const codes = async (): Promise<string> => {
        const headers = { authorization: `Bearer ${token}` };
        const answers = await everywhere(server, agents, headers, "GET", "/api/v1/nodes", "");
        return [...new Set(answers.map(({ code }) => code))].join();
      };
      const before = await codes();
      await server.call("DELETE", `${accounts}/${name}`);
      await server.caughtUp();
      const after = await codes();
      if (before !== "403" || after !== "401") wrong.push(`${before}, then ${after}`);
    }
    t.same(wrong, []);
  });
}
