// The config map that nodes read before they know anything: made once, signed by every token that signs, and by no other.
import { createHmac } from "node:crypto";
import t, { type Test } from "tap";
import { BootstrapSigner, clusterKubeconfig } from "../../src/controllers/bootstrapsigner.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const secrets = "/api/v1/namespaces/kube-system/secrets";
const configMaps = "/api/v1/namespaces/kube-public/configmaps";
const info = `${configMaps}/cluster-info`;
const merge = { "content-type": "application/merge-patch+json" };
const made = clusterKubeconfig("10.9.8.7:6443", "-----BEGIN CERTIFICATE-----\n");

type Data = Record<string, string> | undefined;

/** A signature as clients make it to compare: RFC 7515, appendix F, by hand. */
function signature(content: string, id: string, secret: string): string {
  const header = Buffer.from(JSON.stringify({ alg: "HS256", kid: id })).toString("base64url");
  const payload = Buffer.from(content).toString("base64url");
  const sum = createHmac("sha256", secret).update(`${header}.${payload}`).digest("base64url");
  return `${header}..${sum}`;
}

interface Setup {
  readonly server: InProcess;
  readonly reports: string[];
  readonly start: () => Reconciler;
  readonly data: () => Promise<Data>;
  /** Makes a token; `more` beside what one that signs says. */
  readonly token: (id: string, more?: Record<string, string>, name?: string, type?: string) => Promise<void>;
  /** Waits until these tokens, and no others, signed what there is. */
  readonly signedBy: (t: Test, secretById: Record<string, string>, title?: string) => Promise<void>;
}

async function open(t: Test): Promise<Setup> {
  const server = await openInProcess();
  const reports: string[] = [];
  const running: Reconciler[] = [];
  t.teardown(async () => {
    for (const one of running) await one.stop();
    server.close();
  });
  const data = async (): Promise<Data> => (await server.call("GET", info)).json.data;
  return {
    server,
    reports,
    data,
    start() {
      const signer = new BootstrapSigner(server.writers, made);
      const one = reconcilerOf(signer, server.server.clock, (message) => void reports.push(message));
      one.start();
      running.push(one);
      return one;
    },
    async token(id, more = {}, name = `bootstrap-token-${id}`, type = "bootstrap.kubernetes.io/token") {
      const stringData = {
        "token-id": id,
        "token-secret": `secret-of-${id}`,
        "usage-bootstrap-signing": "true",
        ...more,
      };
      const { code, text } = await server.call("POST", secrets, { metadata: { name }, type, stringData });
      if (code !== 201) throw new Error(text);
    },
    async signedBy(t, secretById, title) {
      const wanted = (found: Data): object => {
        const content = found?.["kubeconfig"] ?? "";
        return Object.fromEntries(
          Object.entries(secretById).map(([id, secret]) => [`jws-kubeconfig-${id}`, signature(content, id, secret)]),
        );
      };
      const signed = (found: Data = {}): object =>
        Object.fromEntries(
          Object.entries(found)
            .filter(([key]) => key.startsWith("jws-"))
            .sort(),
        );
      await until(async () => {
        const found = await data();
        return JSON.stringify(signed(found)) === JSON.stringify(wanted(found));
      });
      const found = await data();
      t.same(signed(found), wanted(found), title ?? "");
    },
  };
}

t.test("cluster-info is made at the start where there is none, and stays deleted afterwards", async (t) => {
  const { server, start, data, token, signedBy, reports } = await open(t);
  const first = start();
  t.ok(await until(async () => (await server.call("GET", info)).code === 200));
  t.same(await data(), { kubeconfig: made });
  await token("aaaaaa");
  await signedBy(t, { aaaaaa: "secret-of-aaaaaa" });
  await server.call("DELETE", info);
  await token("bbbbbb");
  await first.idle();
  t.equal((await server.call("GET", info)).code, 404);
  await first.stop();
  // An installer's own stays as it is.
  await server.call("POST", configMaps, {
    metadata: { name: "cluster-info" },
    data: { kubeconfig: "own", other: "x" },
  });
  start();
  await signedBy(t, { aaaaaa: "secret-of-aaaaaa", bbbbbb: "secret-of-bbbbbb" });
  t.match(await data(), { kubeconfig: "own", other: "x" });
  t.same(reports, []);
});

t.test("only tokens that are for signing sign", async (t) => {
  const { start, token, signedBy, reports, server } = await open(t);
  const soon = (ms: number): string => new Date(server.nowMs + ms).toISOString();
  await token("plain0");
  await token("later0", { expiration: soon(60_000) });
  await token("short0", { "token-secret": "x" });
  await token("nouse0", { "usage-bootstrap-signing": "false" });
  await token("empty0", { "token-secret": "" });
  await token("other0", {}, "bootstrap-token-other1");
  await token("named0", {}, "named0");
  await token("typed0", {}, undefined, "Opaque");
  await token("ended0", { expiration: soon(-1_000) });
  await token("unread", { expiration: "soon" });
  start();
  await signedBy(t, { later0: "secret-of-later0", plain0: "secret-of-plain0", short0: "x" });
  t.same(reports, []);
});

t.test("signatures follow tokens and the kubeconfig", async (t) => {
  const { server, start, token, signedBy, reports, data } = await open(t);
  start();
  await token("aaaaaa");
  await token("bbbbbb");
  await token("cccccc", { expiration: new Date(server.nowMs + 60_000).toISOString() });
  const [a, b, c] = ["aaaaaa", "bbbbbb", "cccccc"].map((id) => ({ [id]: `secret-of-${id}` }));
  await signedBy(t, { ...a, ...b, ...c });
  await server.call("PATCH", info, { data: { kubeconfig: "changed" } }, merge);
  await until(async () => (await data())?.["kubeconfig"] === "changed");
  await signedBy(t, { ...a, ...b, ...c }, "another kubeconfig");
  const stringData = { "token-secret": "another" };
  await server.call("PATCH", `${secrets}/bootstrap-token-bbbbbb`, { stringData }, merge);
  await signedBy(t, { ...a, bbbbbb: "another", ...c }, "another secret");
  const forged = { "jws-kubeconfig-aaaaaa": "forged", "jws-kubeconfig-zzzzzz": "stale", "jws-other": "kept" };
  await server.call("PATCH", info, { data: forged }, merge);
  await until(async () => (await data())?.["jws-kubeconfig-zzzzzz"] === undefined);
  t.equal((await data())?.["jws-other"], "kept");
  await server.call("PATCH", info, { data: { "jws-other": null } }, merge);
  await signedBy(t, { ...a, bbbbbb: "another", ...c }, "forged ones");
  server.nowMs += 60_001;
  server.aheadMs += 60_001;
  await signedBy(t, { ...a, bbbbbb: "another" }, "a token's time is over");
  await server.call(
    "PATCH",
    `${secrets}/bootstrap-token-bbbbbb`,
    { stringData: { "usage-bootstrap-signing": "no" } },
    merge,
  );
  await signedBy(t, { ...a }, "no longer for signing");
  await server.call("DELETE", `${secrets}/bootstrap-token-aaaaaa`);
  await signedBy(t, {}, "deleted");
  await server.call("PATCH", info, { data: { kubeconfig: null, "jws-kubeconfig-zzzzzz": "stale" } }, merge);
  await token("dddddd");
  await server.call("PATCH", info, { data: { kubeconfig: "" } }, merge);
  await signedBy(t, { dddddd: "secret-of-dddddd" }, "an empty kubeconfig is signed");
  t.same(reports, []);
});

t.test("no signature is left of a token that was deleted while the signer was cut off", async (t) => {
  const { server, start, token, signedBy } = await open(t);
  // Cut off before, at and after each of its writes: what it began is finished by the next one.
  for (const cut of [0, 1, 2]) {
    await token("aaaaaa");
    const first = start();
    await signedBy(t, { aaaaaa: "secret-of-aaaaaa" });
    let writes = 0;
    server.store.before = ({ key }) => {
      if (!key.endsWith("/cluster-info")) return undefined;
      writes += 1;
      return writes > cut ? { refused: "unavailable", message: "cut off" } : undefined;
    };
    await server.call("DELETE", `${secrets}/bootstrap-token-aaaaaa`);
    if (cut > 0) await until(() => writes > 0);
    await first.stop();
    server.store.before = undefined;
    const next = start();
    await signedBy(t, {}, `after ${cut} writes`);
    await next.stop();
  }
});

t.test("a kubeconfig that changes while it is signed is signed as it is then", async (t) => {
  const { server, start, token, signedBy } = await open(t);
  await token("aaaaaa");
  let changes = 3;
  server.store.before = async ({ key, body }) => {
    const isSignature = key.endsWith("/cluster-info") && Buffer.from(body).includes("jws-kubeconfig");
    if (!isSignature || changes === 0) return undefined;
    changes -= 1;
    const kubeconfig = `changed ${changes}`;
    await server.call("PATCH", info, { data: { kubeconfig, "jws-kubeconfig-aaaaaa": null } }, merge);
    return undefined;
  };
  start();
  await until(() => changes === 0);
  await signedBy(t, { aaaaaa: "secret-of-aaaaaa" });
});
