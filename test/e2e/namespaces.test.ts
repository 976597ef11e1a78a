// A namespace that ends in a running server, over TLS, while the extension server that holds a part of it is down: it
// stays, through a kill and a restart as well, and goes when the extension server is back and has deleted its objects.
import t from "tap";
import { openExtension, say } from "../support/extension.ts";
import { eventually, startServer } from "../support/server.ts";

t.setTimeout(240_000);

const path = "/apis/ext.example.com/v1";

for (const [identity, domain] of [
  ["kubernetes", "k8s.io"],
  ["orch", "orch.io"],
] as const) {
  t.test(`${identity}: a namespace waits for an extension server that is down, also after a kill`, async (t) => {
    let isDown = true;
    const held = new Set(["a", "b"]);
    const verbs = ["delete", "deletecollection", "list"];
    const resources = [{ name: "things", namespaced: true, kind: "Thing", verbs }];
    const extension = await openExtension(
      (_request, response, { method, url }) => {
        if (isDown) return void response.destroy();
        if (url === path)
          return say(response, { kind: "APIResourceList", groupVersion: "ext.example.com/v1", resources });
        if (method === "DELETE" && url === `${path}/namespaces/n/things`) held.clear();
        const items = [...held].map((name) => ({ metadata: { name, namespace: "n" } }));
        return say(response, { kind: "PartialObjectMetadataList", metadata: {}, items });
      },
      ["ext.default.svc"],
    );
    const flags = [`--identity=${identity}`, "--front-workers=1"];
    let server = await startServer(flags);
    t.teardown(async () => {
      await server.stop("SIGKILL");
      extension.close();
    });
    const spec = { type: "ExternalName", externalName: "127.0.0.1" };
    await server.call("POST", "/api/v1/namespaces/default/services", { metadata: { name: "ext" }, spec });
    const made = await server.call("POST", `/apis/apiregistration.${domain}/v1/apiservices`, {
      metadata: { name: "v1.ext.example.com" },
      spec: {
        group: "ext.example.com",
        version: "v1",
        groupPriorityMinimum: 1000,
        versionPriority: 10,
        service: { namespace: "default", name: "ext", port: extension.port },
        caBundle: Buffer.from(extension.authority).toString("base64"),
      },
    });
    t.equal(made.code, 201, made.text);
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
    await server.call("POST", "/api/v1/namespaces/n/configmaps", { metadata: { name: "m" } });
    await server.call("DELETE", "/api/v1/namespaces/n");
    const failing = async (): Promise<boolean> =>
      /"DiscoveryFailed".*ext\.example\.com\/v1: the server is currently unable to handle the request/.test(
        (await server.call("GET", "/api/v1/namespaces/n")).text,
      );
    t.ok(await eventually(failing, 60_000));
    t.equal((await server.call("GET", "/api/v1/namespaces/n/configmaps/m")).code, 404);
    await server.stop("SIGKILL", false);
    server = await startServer(flags, server.dir);
    t.ok(await failing(), "it is there after the restart");
    isDown = false;
    t.ok(await eventually(async () => (await server.call("GET", "/api/v1/namespaces/n")).code === 404, 90_000));
    t.equal(held.size, 0);
  });
}
