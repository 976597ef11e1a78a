// Aggregation in a running server, over TLS and several threads: the certificate it shows, an exchange of it, watches that
// end in order, and upgrades.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import t from "tap";
import { loadsUws } from "../../src/http/uwsbuild.ts";
import { watch, ws } from "../outbound/websocket.ts";
import { authority, client } from "../support/certificates.ts";
import { openExtension, say } from "../support/extension.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

t.setTimeout(240_000);

const path = "/apis/ext.example.com/v1";

/** Registers the extension server at a port of this machine, and waits until it is asked. */
async function register(server: TestServer, port: number, ca: string): Promise<void> {
  const services = "/api/v1/namespaces/default/services";
  const spec = { type: "ExternalName", externalName: "127.0.0.1" };
  await server.call("POST", services, { metadata: { name: "ext" }, spec });
  const registrations = "/apis/apiregistration.orch.io/v1/apiservices";
  const made = await server.call("POST", registrations, {
    metadata: { name: "v1.ext.example.com" },
    spec: {
      group: "ext.example.com",
      version: "v1",
      groupPriorityMinimum: 1000,
      versionPriority: 10,
      service: { namespace: "default", name: "ext", port },
      caBundle: Buffer.from(ca).toString("base64"),
    },
  });
  if (made.code !== 201) throw new Error(made.text);
  // What a controller finds out, where it runs: a conflict means that it was faster.
  const conditions = [{ type: "Available", status: "True" }];
  await server.call("PUT", `${registrations}/v1.ext.example.com/status`, { ...made.json, status: { conditions } });
  if (!(await eventually(async () => (await server.call("GET", `${path}/things`)).code === 200))) {
    throw new Error((await server.call("GET", `${path}/things`)).text);
  }
}

for (const front of loadsUws() ? ["uws", "node"] : ["node"]) {
  t.test(`a ${front} server shows its certificate, and ends what lasts in order`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "orch-proxy-"));
    const files = { cert: join(directory, "c.pem"), key: join(directory, "k.pem") };
    const proxies = await authority("proxies");
    const place = async (name: string): Promise<void> => {
      const { cert, key } = await client(proxies, [{ CN: [name] }]);
      writeFileSync(files.cert, cert);
      writeFileSync(files.key, key);
    };
    await place("one");
    const extension = await openExtension(
      (_request, response, { url }) => {
        if (!url.includes("watch=1")) return say(response, { url });
        response.writeHead(200, { "Content-Type": "application/json" });
        response.write('{"type":"ADDED"}\n');
      },
      ["ext.default.svc"],
    );
    const sockets = new ws.Server({ noServer: true });
    extension.server.on("upgrade", (request, socket: Socket, head: Buffer) => {
      if (request.headers.upgrade === "websocket") {
        return sockets.handleUpgrade(request, socket, head, (peer) => {
          peer.on("message", (data: Buffer) => peer.send(data.toString()));
          peer.on("error", () => undefined);
        });
      }
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
      socket.on("data", (chunk: Buffer) => socket.write(chunk));
      socket.on("error", () => undefined);
    });
    const flags = [`--proxy-client-cert-file=${files.cert}`, `--proxy-client-key-file=${files.key}`];
    const server = await startServer([`--front=${front}`, "--front-workers=2", ...flags]);
    t.teardown(async () => {
      await server.stop("SIGKILL");
      extension.close();
      rmSync(directory, { recursive: true, force: true });
    });
    await register(server, extension.port, extension.authority);
    // The server asks, too, whether the extension server is available.
    const asked = extension.seen.filter(({ headers }) => headers["x-remote-user"]?.[0] === "admin");
    t.equal(asked.at(-1)?.shown, "one");
    await place("two");
    const isNew = async (): Promise<boolean> => {
      await server.call("GET", `${path}/things`);
      return extension.seen.at(-1)?.shown === "two";
    };
    t.ok(await eventually(isNew, 30_000), "the new one, without a restart");
    const port = Number(new URL(server.base).port);
    const headers = { Authorization: `Bearer ${server.token}` };
    const ends = Array.from({ length: 4 }, () => watchEnd(port, server.ca, headers));
    const begun = await Promise.all(ends.map(({ begun: one }) => one));
    t.same(begun, [200, 200, 200, 200]);
    const head = `GET ${path}/things/a/exec HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\n`;
    const line = connect({ port, host: "127.0.0.1", ca: server.ca, checkServerIdentity: () => undefined });
    let text = "";
    let closed = false;
    line.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    line.on("error", () => undefined);
    line.on("close", () => {
      closed = true;
    });
    line.write(`${head}Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\necho`);
    if (front === "node") t.ok(await eventually(() => /^HTTP\/1.1 101 .*echo$/s.test(text)), text);
    else t.ok(await eventually(() => closed && text.includes("needs --front=node")), text);
    const socket = watch(
      new ws(`wss://127.0.0.1:${port}${path}/things/a/console`, ["v4"], {
        headers,
        ca: server.ca,
        checkServerIdentity: () => undefined,
      }),
    );
    socket.peer.on("open", () => socket.peer.send("hello"));
    t.ok(await eventually(() => socket.messages.includes("hello")), JSON.stringify(socket.refused));
    server.kill("SIGTERM");
    t.same(await Promise.all(ends.map(({ ended }) => ended)), [true, true, true, true], "whole answers");
    t.ok(await eventually(() => closed && socket.closed !== undefined), "the other protocols', too");
    t.equal(socket.closed?.[0], front === "uws" ? 1001 : 1006);
  });
}

t.test("a server refuses to start with a certificate that cannot be used", async (t) => {
  const only = startServer(["--proxy-client-cert-file=/nowhere/c.pem"]);
  await t.rejects(only, /--proxy-client-cert-file and --proxy-client-key-file belong together/);
  const missing = startServer(["--proxy-client-cert-file=/nowhere/c.pem", "--proxy-client-key-file=/nowhere/k.pem"]);
  await t.rejects(missing, /--proxy-client-cert-file \/nowhere\/c\.pem .*ENOENT/s);
});

/** Opens a watch: the code it begins with, and whether its answer came to an end. */
function watchEnd(port: number, ca: string, headers: Record<string, string>) {
  let ended: (whole: boolean) => void = () => undefined;
  const over = new Promise<boolean>((resolve) => {
    ended = resolve;
  });
  const begun = new Promise<number>((resolve) => {
    const options = { host: "127.0.0.1", port, ca, headers, path: `${path}/things?watch=1`, agent: false as const };
    const asked = request({ ...options, checkServerIdentity: () => undefined }, (response) => {
      response.on("end", () => ended(true));
      response.on("error", () => ended(false));
      response.once("data", () => resolve(response.statusCode ?? 0));
    });
    asked.on("error", () => ended(false));
    asked.end();
  });
  return { begun, ended: over };
}
