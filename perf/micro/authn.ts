// CPU of finding out who asks, for every user that is known. `node dist/perf/micro/authn.js [rounds]` prints one JSON line
// per case, `authn/<what is shown>`, with the best and the median of nine runs.
// Expected: a static token 2 us (one hash), a bound token 4 us (the same, and three looks into logs), a certificate 0.5 us.
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Credentials } from "../../src/authn/authenticator.ts";
import { hashToken } from "../../src/authn/tokens.ts";
import { systemClock } from "../../src/base/clock.ts";
import { authnConfig, testAuthentication } from "../../test/support/authn.ts";
import { authority, client, type Issued } from "../../test/support/certificates.ts";
import { openInProcess } from "../../test/support/inprocess.ts";

const rounds = Number(process.argv[2] ?? 20_000);
const runs = 9;

const directory = mkdtempSync(join(tmpdir(), "orch-authn-"));
const users = await authority("users");
const path = join(directory, "users.crt");
writeFileSync(path, users.cert);
const server = await openInProcess();
server.nowMs = Date.now();
const known = { hash: hashToken("static"), name: "alice", uid: "1", groups: ["dev"] };
const config = authnConfig(`--client-ca-file=${path}`);
const authn = testAuthentication(server.scheme, server.writers.views, systemClock, config, [known]);

const account = "/api/v1/namespaces/default/serviceaccounts";
await server.call("POST", account, { metadata: { name: "robot" } });
await server.call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "s" } });
const boundObjectRef = { kind: "Secret", apiVersion: "v1", name: "s" };
const asked = await server.call("POST", `${account}/robot/token`, { spec: { boundObjectRef } });
const nodeOf = ({ certificate }: Issued) => new X509Certificate(Buffer.from(certificate.rawData));
const leaf = nodeOf(await client(users, [{ CN: ["carol"] }]));

/** What was measured must be used, or the engine may leave it out. */
let consumed = 0;

async function measure(name: string, make: () => Credentials): Promise<void> {
  await authn.authenticate(make());
  const times: number[] = [];
  for (let run = 0; run < runs + 2; run += 1) {
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) {
      const user = authn.authenticate(make());
      if (user instanceof Promise) throw new Error(`${name} is not known at once`);
      if (typeof user === "object") consumed += user.groups.length;
    }
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / rounds);
  }
  // The first two runs warm up.
  const sorted = times.slice(2).sort((a, b) => a - b);
  const rounded = (value: number | undefined): number => Math.round((value ?? 0) * 100) / 100;
  console.log(
    JSON.stringify({ case: `authn/${name}`, usBest: rounded(sorted[0]), usMedian: rounded(sorted[runs >> 1]) }),
  );
}

/** A fresh text each time, as a front has it: nothing about it is known beforehand. */
function bearer(token: string): () => Credentials {
  const bytes = Buffer.from(`Bearer ${token}`);
  return () => ({
    headers: [
      ["host", "localhost"],
      ["user-agent", "perf"],
      ["authorization", bytes.toString("latin1")],
    ],
    peer: undefined,
  });
}

const peer = { leaf, others: () => [] };
await measure("a static token", bearer("static"));
await measure("a wrong token", bearer("wrong"));
await measure("a bound token", bearer(asked.json.status.token as string));
await measure("a certificate", () => ({ headers: [["host", "localhost"]], peer }));
await measure("nothing", () => ({ headers: [["host", "localhost"]], peer: undefined }));
if (consumed === 0) console.log("nothing was measured");
server.close();
rmSync(directory, { recursive: true });
