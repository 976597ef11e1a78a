// Requests for extension servers, over both fronts, against real ones: what they get to see, and what comes back.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import t from "tap";
import type { User } from "../../../src/api/user.ts";
import { limits } from "../../../src/config/limits.ts";
import { changeTypes } from "../../../src/storage/store.ts";
import { type Answer, base, group, onFronts } from "../../support/aggregated.ts";
import { authority, client } from "../../support/certificates.ts";
import { makeService, openExtension, register, say } from "../../support/extension.ts";
import { type InProcess, until } from "../../support/inprocess.ts";

t.setTimeout(240_000);

onFronts(
  "what a client may set passes, credentials and what it says of users do not",
  async (t, { ask, extension, server }) => {
    server.user = {
      name: "jane",
      uid: "u-1",
      groups: ["one", "two, three"],
      extra: new Map([["Acme.com/Scope", ["s 1", "ü"]]]),
    };
    const answer = await ask("GET", `${base}/namespaces/ns/things?b=2&a=x%20y&b=1&c`, {
      Accept: "application/json",
      Cookie: "a=b",
      "User-Agent": "agent/1",
      "X-Mine": ["kept", "twice"],
      "X-Named": "dropped",
      Authorization: "Bearer secret",
      "X-Remote-User": "forged",
      "X-Remote-Group": "system:masters",
      "X-Remote-Extra-Scopes": "forged",
      X_Remote_User: "forged",
      "X-Remote-Uid": "forged",
      Connection: "keep-alive, X-Named, X-Remote-User, Audit-Id, X-Forwarded-For",
      "Keep-Alive": "timeout=9",
      TE: "trailers",
      "Proxy-Authorization": "Basic x",
      "Sec-WebSocket-Protocol": "a.b, base64url.bearer.authorization.k8s.io.c2VjcmV0",
      "X-Forwarded-Host": "forged",
      "X-Forwarded-Uri": "/forged",
    });
    t.equal(answer.code, 200);
    const [seen] = extension.seen;
    t.equal(seen?.url, `${base}/namespaces/ns/things?a=x+y&b=2&b=1&c=`, "keys in order, values in theirs");
    t.equal(seen?.shown, undefined, "there is no certificate to show");
    t.same(seen?.headers, {
      accept: ["application/json"],
      cookie: ["a=b"],
      "user-agent": ["agent/1"],
      "x-mine": ["kept", "twice"],
      "sec-websocket-protocol": ["a.b"],
      host: [`127.0.0.1:${extension.port}`],
      "audit-id": [answer.headers["audit-id"]],
      "x-forwarded-for": ["127.0.0.1"],
      "x-forwarded-host": [`127.0.0.1:${extension.port}`],
      "x-forwarded-proto": ["https"],
      "x-forwarded-uri": [`${base}/namespaces/ns/things`],
      "accept-encoding": ["gzip"],
      "x-remote-user": ["jane"],
      "x-remote-group": ["one", "two, three"],
      "x-remote-extra-acme.com%2fscope": ["s 1", "ü"],
    });
  },
);

onFronts("every method and body passes, and what is answered comes back", async (t, { ask, extension }) => {
  extension.answer = (_request, response, { body }) => {
    response.writeHead(418, { "Content-Type": "text/tea", "X-Mine": ["1", "2"], Connection: "X-Gone", "X-Gone": "1" });
    response.end(`got ${body}`);
  };
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const body = method === "GET" || method === "OPTIONS" ? "" : `{"by":"${method}"}`;
    const headers = body === "" ? {} : { "Content-Type": "application/odd", "Content-Length": String(body.length) };
    const answer = await ask(method, `${base}/things/a`, headers, body);
    const seen = extension.seen.at(-1);
    t.equal(seen?.method, method);
    t.equal(seen?.body, body);
    t.equal(answer.code, 418);
    t.equal(answer.text, `got ${body}`);
    t.equal(answer.headers["content-type"], "text/tea");
    t.equal(answer.headers["x-mine"], "1, 2");
    t.equal(answer.headers["x-gone"], undefined, "hop by hop");
    t.equal(answer.headers["cache-control"], "no-cache, private");
  }
  const head = await ask("HEAD", `${base}/things/a`);
  t.equal(head.code, 418);
  t.equal(head.text, "");
  extension.answer = (_request, response) => void response.writeHead(204).end();
  t.equal((await ask("DELETE", `${base}/things/a`)).code, 204);
  extension.answer = (_request, response) => say(response, {}, 201);
  const chunked = await ask("POST", `${base}/things`, { "Transfer-Encoding": "chunked" }, "in pieces");
  t.equal(chunked.code, 201);
  t.equal(extension.seen.at(-1)?.body, "in pieces");
  const { seen } = extension;
  const large = await ask("POST", `${base}/things`, {}, "x".repeat(limits.bodyBytesMax + 1));
  t.equal(large.code, 413);
  t.equal(extension.seen, seen, "is not asked");
});

onFronts("packed answers are unpacked for clients that did not ask for them packed", async (t, { ask, extension }) => {
  const text = JSON.stringify({ data: "x".repeat(300_000) });
  extension.answer = (request, response) => {
    const packs = request.headers["accept-encoding"] === "gzip";
    response.writeHead(200, { "Content-Type": "application/json", ...(packs ? { "Content-Encoding": "gzip" } : {}) });
    response.end(packs ? gzipSync(text) : text);
  };
  const unpacked = await ask("GET", `${base}/things`);
  t.ok(unpacked.text.trim() === text);
  t.equal(unpacked.headers["content-encoding"], undefined);
  const asked = await ask("GET", `${base}/things`, { "Accept-Encoding": "gzip" });
  t.equal(asked.headers["content-encoding"], "gzip");
  t.ok((await ask("GET", `${base}/things`, { "Accept-Encoding": "identity" })).text.trim() === text);
  extension.answer = (_request, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" });
    response.end("no gzip at all");
  };
  const broken = await ask("GET", `${base}/things`).catch(() => undefined);
  t.ok(broken === undefined || broken.cut, "what cannot be unpacked is cut off");
});

onFronts(
  "redirects are refused, and a location without a host gets the extension server's",
  async (t, { ask, extension }) => {
    const away = await openExtension((_request, response) => say(response, {}));
    t.teardown(() => away.close());
    for (const code of [301, 302, 303, 307, 308]) {
      for (const to of ["/elsewhere", `https://127.0.0.1:${away.port}/`, "http://169.254.169.254/latest"]) {
        extension.answer = (_request, response) => void response.writeHead(code, { Location: to }).end("secret");
        const answer = await ask("GET", `${base}/things`);
        t.equal(answer.code, 502);
        t.equal(answer.text, "the backend attempted to redirect this request, which is not permitted");
        t.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
        t.equal(answer.headers.location, undefined);
      }
    }
    t.equal(away.seen.length, 0, "never dialled");
    const host = `https://127.0.0.1:${extension.port}`;
    for (const [said, told] of [
      ["/elsewhere?a=b", `${host}/elsewhere?a=b`],
      ["https://other.example/x", "https://other.example/x"],
      ["//other.example/x", "//other.example/x"],
      ["relative", "relative"],
    ] as const) {
      extension.answer = (_request, response) => void response.writeHead(201, { Location: said }).end("{}");
      t.equal((await ask("POST", `${base}/things`)).headers.location, told);
    }
  },
);

onFronts(
  "a refusal never reaches the extension server, and a server that is not available is not asked",
  async (t, world) => {
    const { ask, extension, server } = world;
    const denies = { authorize: () => ({ outcome: "no-opinion" as const, reason: "" }) };
    const { authorizer } = server;
    server.authorizer = denies as never;
    server.user = { name: "jane", uid: "", groups: [], extra: new Map() };
    const refused = await ask("GET", `${base}/namespaces/ns/things/a`);
    t.equal(refused.code, 403);
    t.match(
      refused.text,
      /cannot get resource \\"things\\" in API group \\"ext.example.com\\" in the namespace \\"ns\\"/,
    );
    server.authorizer = authorizer;
    t.equal((await ask("GET", `${base}/things`, { "Impersonate-User": "" })).code, 400);
    await register(server, { group: "down.example.com", port: extension.port, available: false });
    for (const path of ["/apis/down.example.com/v1", "/apis/down.example.com/v1/things"]) {
      const down = await ask("GET", path);
      t.equal(down.code, 503);
      t.equal(down.text, "service unavailable\n");
      t.equal(down.headers["content-type"], "text/plain; charset=utf-8");
    }
    t.equal(extension.seen.length, 0);
  },
);

onFronts("a connection that fails is told with its reason", async (t, { ask, server, extension }) => {
  const gone = await openExtension(() => undefined);
  gone.close();
  const other = await authority("other");
  await register(server, { group: "gone.example.com", port: gone.port });
  await register(server, { group: "wrong.example.com", port: extension.port, authority: other.cert });
  await register(server, { group: "skips.example.com", port: extension.port });
  await makeService(server, "named", { type: "ExternalName", externalName: "127.0.0.1" });
  await register(server, {
    group: "named.example.com",
    port: extension.port,
    service: "named",
    authority: extension.authority,
  });
  await register(server, { group: "bundle.example.com", port: extension.port, authority: "hello" });
  const to = (name: string): Promise<Answer> => ask("GET", `/apis/${name}.example.com/v1/things`);
  const unreachable = "error trying to reach service: ";
  t.equal((await to("gone")).text, `${unreachable}dial tcp 127.0.0.1:${gone.port}: connect: connection refused\n`);
  t.equal((await to("wrong")).text, `${unreachable}x509: certificate signed by unknown authority\n`);
  t.match((await to("named")).text, /error trying to reach service: .*named\.ns\.svc/, "of another name");
  const bundle = await to("bundle");
  t.equal(bundle.code, 503);
  t.match(bundle.text, /^error trying to reach service: /);
  t.equal(extension.seen.length, 0, "none was sent");
  t.equal((await to("skips")).code, 200);
  extension.answer = (request) => void request.socket.destroy();
  t.equal((await ask("GET", `${base}/things`)).text, `${unreachable}EOF\n`);
});

onFronts("an answer that breaks off is not taken for a whole one", async (t, { ask, extension }) => {
  for (const type of ["application/json", "text/plain"]) {
    for (const head of [{ "Content-Length": "100" }, {}]) {
      extension.answer = (_request, response) => {
        response.writeHead(200, { "Content-Type": type, ...head });
        response.write("[1,", () => response.socket?.destroy());
      };
      const answer = await ask("GET", `${base}/things`).catch(() => undefined);
      t.ok(answer === undefined || answer.cut, `${type} ${Object.keys(head)}`);
    }
  }
});

onFronts(
  "a path says there what was authorized here, and stays below its group version",
  async (t, { ask, raw, extension }) => {
    const paths: [string, string | number][] = [
      [`${base}/things/a%2Fb`, `${base}/things/a/b`],
      [`${base}/things/%41%3f%23%25%20`, `${base}/things/A%3F%23%25%20`],
      [`${base}/things/a/`, `${base}/things/a/`],
      [`${base}/`, `${base}/`],
      [`${base}//things`, `${base}//things`],
      [`${base}/things/%c3%bc`, `${base}/things/%C3%BC`],
      [`${base}/things/a;b=(c)'d'!*`, `${base}/things/a;b=%28c%29%27d%27%21%2A`],
      [`${base}/%2e%2e/v2/things`, 400],
      [`${base}/../../other/v1`, 400],
      [`${base}/things/.`, 400],
      [`${base}/things/a%0d%0aX-Remote-User:%20admin`, 400],
      [`${base}/things/%00`, 400],
      [`${base}/things/%zz`, 400],
      [`${base}/things?a=%zz`, 400],
    ];
    for (const [path, expected] of paths) {
      const before = extension.seen.length;
      const text = await raw(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      const code = Number(text.split(" ")[1]);
      if (typeof expected === "number") {
        t.equal(code, expected, path);
        t.equal(extension.seen.length, before, `${path} does not arrive`);
      } else t.equal(extension.seen.at(-1)?.url, expected, path);
    }
    t.equal((await ask("GET", `/${base}/things`)).code, 404, "two slashes: not this path");
  },
);

onFronts("a user whose name a header would change is not passed on", async (t, { ask, extension, server }) => {
  const users: Partial<User>[] = [
    { name: "a\r\nX-Remote-User: admin" },
    { name: " admin" },
    { name: "admin\t" },
    { name: "a", groups: ["system:masters "] },
    { name: "a", extra: new Map([["k", ["v\n"]]]) },
  ];
  for (const user of users) {
    server.user = { uid: "", groups: [], extra: new Map(), name: "", ...user };
    t.equal((await ask("GET", `${base}/things`)).code, 400, JSON.stringify(user));
  }
  t.equal(extension.seen.length, 0);
});

onFronts("requests that are malformed or hide others end here", async (t, { raw, extension }) => {
  const head = `POST ${base}/things HTTP/1.1\r\nHost: a\r\n`;
  const hidden = `GET ${base}/hidden HTTP/1.1\r\nHost: a\r\n\r\n`;
  const attempts = [
    `${head}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd${hidden}`,
    `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${hidden}`,
    `${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${hidden}`,
    `${head}X-A: a\x00b\r\nConnection: close\r\n\r\n`,
    `${head}Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n${hidden}`,
  ];
  for (const bytes of attempts) {
    const text = await raw(bytes);
    t.match(text, /^HTTP\/1.1 [45]|^$/, bytes.slice(0, 120));
  }
  t.notOk(extension.seen.some(({ url }) => url.endsWith("/hidden")));
});

onFronts("a request of HTTP/1.0 is answered, on the front that takes it", async (t, { raw, front }) => {
  const text = await raw(`GET ${base}/things HTTP/1.0\r\nHost: a\r\n\r\n`);
  if (front === "uws") return void t.match(text, /^HTTP\/1.1 505/);
  t.match(text, /^HTTP\/1.1 200/);
  t.match(text, /\{\}/);
});

onFronts(
  "an API service that leads to this server itself ends after some rounds",
  async (t, { ask, server, port, extension }) => {
    // What this server is asked comes back to it: the extension server hands it on, as a server of TLS in front of it would.
    extension.answer = (_request, response, { url, headers }) => {
      const back = request({ host: "127.0.0.1", port, path: url, headers: joined(headers) }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, { "Content-Type": "text/plain" });
        answer.pipe(response);
      });
      back.on("error", (error) => response.destroy(error));
      back.end();
    };
    server.user = { name: "jane", uid: "", groups: [], extra: new Map() };
    const answer = await ask("GET", `${base}/things`);
    t.equal(answer.code, 508);
    t.match(answer.text, /came through 10 proxies/);
    t.equal(extension.seen.length, limits.proxyHopsMax);
  },
);

onFronts(
  "a server that hangs is waited for until the deadline, before and within its answer",
  async (t, { ask, extension }) => {
    extension.answer = () => undefined;
    const before = await ask("GET", `${base}/things?timeout=300ms`);
    t.equal(before.code, 504);
    t.match(before.text, /did not complete within the allotted timeout/);
    const document = await ask("GET", `${base}?timeout=300ms`);
    t.equal(document.code, 503);
    t.equal(document.text, "error trying to reach service: context deadline exceeded\n");
    extension.answer = (_request, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      const timer = setInterval(() => response.write(" "), 5);
      response.on("close", () => clearInterval(timer));
    };
    const within = await ask("GET", `${base}/things?timeout=300ms`).catch(() => undefined);
    t.ok(within === undefined || within.cut, "cut off");
    t.ok(await until(() => extension.open.size === 0), "no connection is left");
    t.equal((await ask("GET", `${base}/things?timeout=x`)).code, 400);
  },
);

onFronts(
  "100 at once get their own answers, and one user does not take all places",
  async (t, { ask, extension, server }) => {
    const waiting: (() => void)[] = [];
    extension.answer = (_request, response, { url }) => void waiting.push(() => say(response, { url }));
    const all = Array.from({ length: 100 }, (_, at) => ask("GET", `${base}/things/${at}`, { "X-At": String(at) }));
    t.ok(await until(() => waiting.length === 100));
    const seats = server.server.inflight.readOnly;
    t.equal(seats.used, 0, "no seat of other requests");
    t.equal((await ask("GET", "/api/v1/namespaces/ns")).code, 200);
    for (const answer of waiting.splice(0)) answer();
    for (const [at, answer] of (await Promise.all(all)).entries())
      t.same(JSON.parse(answer.text).url, `${base}/things/${at}`);
    server.user = { name: "jane", uid: "", groups: [], extra: new Map() };
    let refused = 0;
    const many = Array.from({ length: limits.passedCallsAtOneMax }, async () => {
      const { code } = await ask("GET", `${base}/things`);
      if (code === 429) refused += 1;
    });
    t.ok(await until(() => refused > 0 && waiting.length + refused === many.length), `${refused} get 429`);
    server.user = { name: "joe", uid: "", groups: [], extra: new Map() };
    const other = ask("GET", `${base}/things`);
    const isJoes = (): boolean => extension.seen.some(({ headers }) => headers["x-remote-user"]?.[0] === "joe");
    t.ok(await until(isJoes), "another user gets a place");
    for (const answer of waiting.splice(0)) answer();
    t.equal((await other).code, 200);
    await Promise.all(many);
  },
);

onFronts("100 MB pass without being gathered", async (t, { port, extension }) => {
  const chunk = Buffer.alloc(64 * 1024, "x");
  const chunks = 1_600;
  extension.answer = (_request, response) => {
    response.writeHead(200, { "Content-Type": "text/plain" });
    let at = 0;
    const more = (): void => {
      while (at < chunks) {
        at += 1;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  };
  const before = process.memoryUsage().rss;
  let most = 0;
  const bytes = await new Promise<number>((resolve) => {
    request({ host: "127.0.0.1", port, path: `${base}/things` }, (response) => {
      let got = 0;
      response.on("data", (piece: Buffer) => {
        got += piece.length;
        most = Math.max(most, process.memoryUsage().rss);
      });
      response.on("end", () => resolve(got));
    }).end();
  });
  t.equal(bytes, chunks * chunk.length);
  t.ok(most - before < 60_000_000, `grew by ${Math.round((most - before) / 1e6)} MB`);
});

onFronts(
  "a client that does not read holds up the extension server, and ends with its connection",
  async (t, world) => {
    const { port, extension, server } = world;
    const chunk = Buffer.alloc(64 * 1024, "x");
    let sent = 0;
    let closed = false;
    extension.answer = (_request, response) => {
      response.writeHead(200, { "Content-Type": "application/json;stream=watch" });
      const more = (): void => {
        while (response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
        response.once("drain", more);
      };
      more();
      response.on("close", () => {
        closed = true;
      });
    };
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${base}/things?watch=true HTTP/1.1\r\nHost: a\r\n\r\n`);
      socket.pause();
    });
    let last = -1;
    let still = 0;
    t.ok(
      await until(async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        still = sent === last ? still + 1 : 0;
        last = sent;
        return sent > 0 && still > 20;
      }, 20_000),
      "it stops",
    );
    t.ok(sent < 40_000_000, `after ${sent} bytes`);
    t.equal(server.server.extensions.backends.streams.used, 1);
    t.equal(server.server.inflight.readOnly.used, 0, "a watch holds no seat");
    socket.destroy();
    t.ok(await until(() => closed && extension.open.size === 0), "the connection to it is closed");
  },
);

onFronts(
  "a watch passes event by event, ends with the server's, and is ended in order at shutdown",
  async (t, world) => {
    const { port, extension, server } = world;
    const answers: import("node:http").ServerResponse[] = [];
    extension.answer = (_request, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.flushHeaders();
      answers.push(response);
    };
    const open = (): Promise<{ code: number; text: () => string; over: Promise<boolean> }> =>
      new Promise((resolve) => {
        request({ host: "127.0.0.1", port, path: `${base}/things?watch=1` }, (response) => {
          let text = "";
          const over = new Promise<boolean>((ended) => {
            response.on("end", () => ended(true));
            response.on("error", () => ended(false));
          });
          response.on("data", (piece: Buffer) => {
            text += piece;
          });
          resolve({ code: response.statusCode ?? 0, text: () => text.trim(), over });
        }).end();
      });
    const one = await open();
    t.equal(one.code, 200, "the head comes before the first event");
    for (const event of ["1", "2", "3"]) {
      answers[0]?.write(`{"n":${event}}\n`);
      t.ok(await until(() => one.text().endsWith(`{"n":${event}}`)), event);
    }
    answers[0]?.end();
    t.equal(await one.over, true);
    const [two, three] = [await open(), await open()];
    t.ok(await until(() => answers.length === 3));
    answers[1]?.write("{}\n");
    t.ok(await until(() => two.text() === "{}"));
    await server.server.extensions.backends.endLasting(1_000);
    t.equal(await two.over, true, "whole");
    t.equal(await three.over, true);
    t.ok(await until(() => extension.open.size === 0));
  },
);

onFronts("requests count by names that the extension server has", async (t, { ask, extension, server }) => {
  extension.answer = (_request, response, { url }) => say(response, {}, url.includes("/things") ? 200 : 404);
  for (let at = 0; at < 50; at++) await ask("GET", `${base}/made-up-${at}/x`);
  const unknown = server.lastRecord;
  t.same([unknown?.group, unknown?.version, unknown?.resource, unknown?.verb], [group, "v1", "", "GET"]);
  await ask("GET", `${base}/namespaces/ns/things`);
  await ask("GET", `${base}/namespaces/ns/things`);
  await until(() => server.lastRecord?.resource === "things");
  const known = server.lastRecord;
  t.same([known?.resource, known?.verb, known?.scope, known?.code], ["things", "LIST", "namespace", 200]);
});

onFronts(
  "with routing by endpoints, ready addresses are dialled",
  async (t, { ask, extension, server }) => {
    await makeService(server, "inside", { ports: [{ name: "https", port: 443 }] });
    await register(server, { group: "inside.example.com", port: 443, service: "inside" });
    t.equal((await ask("GET", "/apis/inside.example.com/v1/things")).text, "service unavailable\n");
    const subsets = [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "https", port: extension.port }] }];
    await putEndpoints(server, subsets);
    t.equal((await ask("GET", "/apis/inside.example.com/v1/things")).code, 200);
    t.equal((await ask("GET", `${base}/things`)).text, "service unavailable\n", "no external name");
  },
  undefined,
  { aggregation: { routing: "endpoints" } },
);

/** Endpoints on the loopback are refused: they are put into the store past the rules. */
async function putEndpoints(server: InProcess, subsets: object): Promise<void> {
  const subset = { addresses: [{ ip: "203.0.113.1" }], ports: [{ name: "https", port: 1 }] };
  const made = await server.call("POST", "/api/v1/namespaces/ns/endpoints", {
    metadata: { name: "inside" },
    subsets: [subset],
  });
  if (made.code !== 201) throw new Error(made.text);
  const written = server.store.changes.find(({ key }) => key === "/registry/services/endpoints/ns/inside");
  if (written === undefined) throw new Error("the endpoints were not stored");
  const text = Buffer.from(written.body).toString();
  const body = Buffer.from(text.replace(/"subsets":.*$/, `"subsets":${JSON.stringify(subsets)}}`));
  const outcome = server.store.apply({ ...written, type: changeTypes.update, body, expected: server.store.revision });
  if (!("revision" in outcome)) throw new Error(JSON.stringify(outcome));
}

function joined(headers: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values.join(", ")]));
}

const directory = mkdtempSync(join(tmpdir(), "orch-proxy-"));
const certFile = join(directory, "proxy.crt");
const keyFile = join(directory, "proxy.key");
const proxies = await authority("proxies");
const shown = [await client(proxies, [{ CN: ["proxy-1"] }]), await client(proxies, [{ CN: ["proxy-2"] }])] as const;

function place({ cert, key }: (typeof shown)[number]): void {
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
}

place(shown[0]);
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

onFronts(
  "the server's own certificate is shown, the new one after an exchange of its files",
  async (t, { ask, extension, server }) => {
    place(shown[0]);
    const { credentials } = server.server.extensions;
    credentials.reload();
    for (const one of [0, 1, 0] as const) {
      place(shown[one]);
      t.equal(credentials.reload(), undefined);
      await Promise.all([ask("GET", `${base}/things`), ask("POST", `${base}/things`, {}, "{}")]);
      const [last, before] = extension.seen.slice(-2);
      t.same([last?.shown, before?.shown], [`proxy-${one + 1}`, `proxy-${one + 1}`]);
    }
  },
  undefined,
  { aggregation: { certFile, keyFile } },
);
