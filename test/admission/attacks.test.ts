// Known holes of admission and validation, each tried under its number in the list of attacks.
import t from "tap";
import { openInProcess } from "../support/inprocess.ts";

const core = "/api/v1/namespaces/default";

t.test("D02: endpoints and slices accept no address of the node itself", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const cases = [
    "127.0.0.1",
    "127.9.9.9",
    "127.1",
    "0127.0.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "0.0.0.0",
  ];
  for (const ip of cases) {
    const endpoints = { metadata: { name: "e" }, subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }] };
    t.equal((await server.call("POST", `${core}/endpoints`, endpoints)).code, 422, `endpoints ${ip}`);
    const slice = {
      metadata: { name: "s" },
      addressType: ip.includes(":") ? "IPv6" : "IPv4",
      endpoints: [{ addresses: [ip] }],
      ports: [{ port: 80 }],
    };
    const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    t.equal((await server.call("POST", path, slice)).code, 422, `slice ${ip}`);
  }
});

t.test("D05: a local seccomp profile is named, and inside its directory", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  for (const localhostProfile of [undefined, "", "..", "/abs", "a/../b"]) {
    const seccompProfile = { type: "Localhost", localhostProfile };
    for (const spec of [
      { securityContext: { seccompProfile }, containers: [{ name: "c", image: "i" }] },
      { containers: [{ name: "c", image: "i", securityContext: { seccompProfile } }] },
    ]) {
      const made = await server.call("POST", `${core}/pods`, { metadata: { name: "p" }, spec });
      t.equal(made.code, 422, JSON.stringify(spec));
    }
  }
});

t.test("D10: pod security exempts exactly whom it names", async (t) => {
  const document = {
    defaults: { enforce: "baseline" },
    exemptions: { usernames: ["alice"], namespaces: ["free"], runtimeClasses: ["vm"] },
  };
  const settings = new Map([["PodSecurity", JSON.stringify(document)]]);
  const server = await openInProcess("kubernetes", {
    admission: { disabled: ["ServiceAccount", "RuntimeClass"], settings },
  });
  t.teardown(() => server.close());
  for (const name of ["free", "freedom"]) await server.call("POST", "/api/v1/namespaces", { metadata: { name } });
  const attempt = async (userName: string, namespace: string, runtimeClassName?: string): Promise<number> => {
    server.user = { ...server.user, name: userName };
    const metadata = { generateName: "p-" };
    const spec = { hostNetwork: true, runtimeClassName, containers: [{ name: "c", image: "i" }] };
    return (await server.call("POST", `/api/v1/namespaces/${namespace}/pods`, { metadata, spec })).code;
  };
  t.equal(await attempt("alice", "default"), 201);
  t.equal(await attempt("bob", "free"), 201);
  t.equal(await attempt("bob", "default", "vm"), 201);
  t.equal(await attempt("bob", "default"), 403);
  t.equal(await attempt("Alice", "default"), 403);
  t.equal(await attempt("alice2", "default"), 403);
  t.equal(await attempt("bob", "freedom"), 403);
  t.equal(await attempt("bob", "default", "vm2"), 403);
});
