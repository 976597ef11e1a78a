// Credential plugins: what they are told, how long what they say is used, and every way they can be wrong.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { identities } from "../../src/api/identity.ts";
import { type ApiClient, openClient } from "../../src/client/client.ts";
import { readCredential } from "../../src/client/exec.ts";
import { type Answer, CallFailure } from "../../src/outbound/client.ts";
import { openPeer, type Peer, sayJson } from "../support/peer.ts";

const identity = identities.orch;
const apiVersion = "client.authentication.orch.io/v1";
const timeoutMs = 10_000;

interface Setup {
  readonly peer: Peer;
  readonly client: ApiClient;
  /** What the plugin was told, per run. */
  runs(): { kind: string; apiVersion: string; spec: { interactive: boolean; cluster?: object } }[];
}

/** A peer that takes one token, and a client whose plugin prints what `print` makes of the number of the run. */
async function setUp(
  t: Pick<Test, "teardown" | "testdir">,
  print: string,
  takes: (authorization: string) => boolean,
  exec: object = {},
): Promise<Setup> {
  const peer = await openPeer((_body, response, request) => {
    const { authorization = "" } = request.headers;
    sayJson(response, { authorization }, takes(authorization) ? 200 : 401);
  });
  const directory = t.testdir({});
  const plugin = join(directory, "plugin.mjs");
  const log = join(directory, "runs");
  writeFileSync(log, "");
  writeFileSync(
    plugin,
    `#!${process.execPath}
import { appendFileSync, readFileSync } from "node:fs";
appendFileSync(${JSON.stringify(log)}, process.env.ORCH_EXEC_INFO + "\\n");
const run = readFileSync(${JSON.stringify(log)}, "utf8").trim().split("\\n").length;
process.stdout.write(JSON.stringify({ kind: "ExecCredential", apiVersion: ${JSON.stringify(apiVersion)}, status: (${print})(run, process.argv[2], process.env.EXTRA) }));
`,
  );
  chmodSync(plugin, 0o700);
  const document = {
    clusters: [
      {
        name: "c",
        cluster: {
          server: peer.url,
          "certificate-authority-data": Buffer.from(peer.authority).toString("base64"),
          extensions: [{ name: "client.authentication.orch.io/exec", extension: { audience: "mine" } }],
        },
      },
    ],
    users: [
      {
        name: "u",
        user: {
          exec: {
            apiVersion,
            command: "./plugin.mjs",
            interactiveMode: "Never",
            args: ["arg"],
            env: [{ name: "EXTRA", value: "e" }],
            ...exec,
          },
        },
      },
    ],
  };
  const config = join(directory, "config");
  writeFileSync(config, JSON.stringify(document));
  const client = openClient({ config, identity });
  if (typeof client === "string") throw new Error(client);
  t.teardown(() => {
    client.close();
    peer.close();
  });
  const runs = () =>
    readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { peer, client, runs };
}

function shown(outcome: Answer | CallFailure): string {
  return outcome instanceof CallFailure ? outcome.message : `${outcome.code} ${outcome.body.toString()}`;
}

t.test("a plugin's token is used until the server refuses it", async (t) => {
  let good = "Bearer t1-arg-e";
  const print = "(run, arg, extra) => ({ token: `t${run}-${arg}-${extra}` })";
  const { client, runs } = await setUp(t, print, (said) => said === good, { provideClusterInfo: true });
  const call = { method: "GET", path: "/x", timeoutMs } as const;
  t.equal(shown(await client.call(call)), '200 {"authorization":"Bearer t1-arg-e"}');
  t.equal(shown(await client.call(call)), '200 {"authorization":"Bearer t1-arg-e"}');
  t.equal(runs().length, 1);
  const [info] = runs();
  t.match(info, {
    kind: "ExecCredential",
    apiVersion,
    spec: { interactive: false, cluster: { server: /^https:/, config: { audience: "mine" } } },
  });
  good = "Bearer t2-arg-e";
  const answers = await Promise.all([client.call(call), client.call(call), client.call(call)]);
  t.ok(
    answers.every((answer) => shown(answer).startsWith("200")),
    answers.map(shown).join(),
  );
  t.equal(runs().length, 2, "one run serves all that were refused");
  good = "nobody";
  t.match(shown(await client.call(call)), /^401/, "and it is fetched anew once per call");
  t.equal(runs().length, 3);
});

t.test("a credential that expires is fetched anew before it is used", async (t) => {
  const print = `(run) => ({ token: "t" + run, expirationTimestamp: new Date(Date.now() + (run === 1 ? -1000 : 3600000)).toISOString() })`;
  const { client, runs } = await setUp(t, print, () => true);
  const call = { method: "GET", timeoutMs } as const;
  t.match(shown(await client.call(call)), /Bearer t1/);
  t.match(shown(await client.call(call)), /Bearer t2/);
  t.match(shown(await client.call(call)), /Bearer t2/);
  t.equal(runs().length, 2);
});

t.test("plugins that fail say so in one line, with the hint how to install them", async (t) => {
  const failing = await setUp(t, "() => process.exit(3)", () => true);
  const call = { method: "GET", timeoutMs } as const;
  t.match(shown(await failing.client.call(call)), /exec: executable .*plugin.mjs failed with exit code 3/);
  const missing = await setUp(t, "() => 0", () => true, { command: "no-such-plugin", installHint: "Get it there." });
  t.match(shown(await missing.client.call(call)), /exec: executable no-such-plugin not found.*\n\nGet it there\./s);
  const asking = await setUp(t, "() => 0", () => true, { interactiveMode: "Always" });
  t.match(shown(await asking.client.call(call)), /cannot support interactive mode/);
  t.equal(asking.runs().length, 0, "it is not run");
});

t.test("readCredential() holds a plugin to its version and to whole credentials", async (t) => {
  const read = (document: unknown): unknown => readCredential(Buffer.from(JSON.stringify(document)), apiVersion);
  const of = (status: object): unknown => read({ kind: "ExecCredential", apiVersion, status });
  t.match(readCredential(Buffer.from("nothing"), apiVersion), /it printed no JSON object/);
  t.match(read({ kind: "Pod" }), /it printed no ExecCredential/);
  t.match(read({ kind: "ExecCredential", apiVersion: "x/v1" }), /it is configured for .* and answered in "x\/v1"/);
  t.match(read({ kind: "ExecCredential", apiVersion }), /it printed no status/);
  t.match(of({}), /neither a token nor a certificate/);
  t.match(of({ clientKeyData: "k" }), /certificate and key belong together/);
  t.match(of({ token: "t", expirationTimestamp: "soon" }), /expirationTimestamp is no time/);
  t.match(of({ clientCertificateData: "c", clientKeyData: "k", token: "t" }), {
    token: "t",
    certificate: "c",
    key: "k",
  });
});

t.test("openClient() says what is wrong with a configuration", async (t) => {
  const open = (user: object): unknown => {
    const config = join(t.testdir({}), "config");
    writeFileSync(
      config,
      JSON.stringify({ clusters: [{ name: "c", cluster: { server: "https://a" } }], users: [{ user }] }),
    );
    return openClient({ config, identity });
  };
  t.match(open({ exec: { apiVersion } }), /exec.command must name a command/);
  t.match(open({ exec: { command: "c", apiVersion: "v1" } }), /exec.apiVersion must be one of .*: "v1"/);
  t.match(
    open({ exec: { command: "c", apiVersion } }),
    /exec.interactiveMode must be one of Never, IfAvailable, Always/,
  );
  t.match(open({ exec: { command: "c", apiVersion, interactiveMode: "Never", args: 5 } }), /exec.args must be a list/);
  t.match(open({ "auth-provider": { name: "gcp" } }), /no auth provider "gcp"; there is: oidc/);
  t.match(open({ "auth-provider": { name: "oidc", config: {} } }), /idp-issuer-url must be set/);
});
