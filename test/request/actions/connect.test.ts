// Paths that lead to a node, as far as they go without one; answers are those of upstream's transcripts.
import t from "tap";
import { openInProcess } from "../../support/inprocess.ts";

t.test("connect() says what can be said without a node", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const pods = "/api/v1/namespaces/default/pods";
  const container = { name: "c", image: "i" };
  await server.call("POST", pods, { metadata: { name: "u" }, spec: { containers: [container] } });
  const two = { containers: [container, { ...container, name: "b" }], nodeName: "nowhere" };
  await server.call("POST", pods, { metadata: { name: "m" }, spec: two });
  const unassigned = "400 pod u does not have a host assigned";
  const table: [want: string, path: string][] = [
    ["204", `${pods}/u/log`],
    ['404 pods "none" not found', `${pods}/none/log`],
    ["400 container zz is not valid for pod u", `${pods}/u/log?container=zz`],
    [
      '422 PodLogOptions "u" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
      `${pods}/u/log?tailLines=-1`,
    ],
    ['400 strconv.ParseInt: parsing "x": invalid syntax', `${pods}/u/log?tailLines=x`],
    [unassigned, `${pods}/u/exec?command=x`],
    [unassigned, `${pods}/u/attach`],
    [unassigned, `${pods}/u/portforward`],
    ["400 a container name must be specified for pod m, choose one of: [c b]", `${pods}/m/log`],
    ['404 pods "nowhere" not found', `${pods}/m/log?container=b`],
    ['404 pods "none" not found', `${pods}/http:none:80/proxy/a/b`],
    ['404 services "none" not found', "/api/v1/namespaces/default/services/none/proxy/"],
    ['404 nodes "none" not found', "/api/v1/nodes/none:10250/proxy/"],
    ["503 the server does not connect to nodes", `${pods}/u/proxy/`],
  ];
  for (const [want, path] of table) {
    const { code, json } = await server.call("GET", path);
    t.equal(json === undefined ? String(code) : `${code} ${json.message}`, want, path);
  }
  t.equal((await server.call("POST", `${pods}/u/exec?command=x`)).json.message, "pod u does not have a host assigned");
  t.strictSame(server.faults, []);
});
