// Credentials with bytes changed, at random places: none authenticates a client, nothing throws, and what is read of a
// certificate never lies outside of it. ORCH_FUZZ_SEED and ORCH_FUZZ_ROUNDS repeat and lengthen a run.
import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import t from "tap";
import { readCertificate } from "../../src/pki/certificate.ts";
import { findChain } from "../../src/pki/chain.ts";
import { testAuthentication, whoIs } from "../support/authn.ts";
import { authority, client, type Issued } from "../support/certificates.ts";
import { openInProcess } from "../support/inprocess.ts";
import { draws, fuzzRun } from "../support/random.ts";

const { seed, rounds } = fuzzRun(1_500);
t.comment(`ORCH_FUZZ_SEED=${seed} ORCH_FUZZ_ROUNDS=${rounds}`);

t.test("a certificate with a changed byte is not valid", async (t) => {
  const root = await authority("root");
  const middle = await authority("middle", root);
  const leaf = await client(middle, [{ O: ["dev"] }, { CN: ["alice"] }]);
  const nodeOf = ({ certificate }: Issued) => new X509Certificate(Buffer.from(certificate.rawData));
  const roots = [nodeOf(root)];
  const others = (): X509Certificate[] => [nodeOf(middle)];
  t.type(findChain({ leaf: nodeOf(leaf), others }, roots, Date.now()), "object", "the pattern itself is believed");
  const { next } = draws(seed);
  const whole = Buffer.from(leaf.certificate.rawData);
  const between = Buffer.from(middle.certificate.rawData);
  const believed: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const source = round % 2 === 0 ? whole : between;
    const changed = Buffer.from(source);
    const at = next(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << next(8));
    const cut = next(10) === 0 ? changed.subarray(0, next(changed.length)) : changed;
    readCertificate(cut);
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(cut);
    } catch {
      continue;
    }
    const peer = source === whole ? { leaf: certificate, others } : { leaf: nodeOf(leaf), others: () => [certificate] };
    if (typeof findChain(peer, roots, Date.now()) !== "string") believed.push(at);
  }
  t.same(believed, []);
});

t.test("a token with a changed character is not valid", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const clock = { now: () => server.nowMs, monotonic: () => performance.now() };
  const authn = testAuthentication(server.scheme, server.writers.views, clock);
  const account = "/api/v1/namespaces/default/serviceaccounts";
  await server.call("POST", account, { metadata: { name: "robot" } });
  const token: string = (await server.call("POST", `${account}/robot/token`, {})).json.status.token;
  const who = async (text: string): Promise<string | undefined> =>
    (await whoIs(authn, { headers: [["authorization", `Bearer ${text}`]], peer: undefined }))?.name;
  t.ok(await who(token), "the pattern itself is good");
  const { next, pick } = draws(seed);
  const characters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ,;\u00e9\u0000"];
  const accepted: string[] = [];
  for (let round = 0; round < rounds; round++) {
    // The last character of a part may say nothing: its low bits stand for no byte.
    const at = next(token.length - 1);
    const inserts = next(4) === 0;
    const changed = token.slice(0, at) + pick(characters) + token.slice(inserts ? at : at + 1);
    if (changed === token || isPartEnd(token, at)) continue;
    // A blank ends a token: what comes before is one of its own, and nothing before it is no token.
    const name = await who(changed);
    if (name !== undefined && name !== "system:anonymous" && changed.split(" ", 1)[0] !== token) accepted.push(changed);
    if (name === "system:anonymous" && !changed.startsWith(" ")) accepted.push(changed);
  }
  t.same(accepted, []);
});

function isPartEnd(token: string, at: number): boolean {
  return token[at + 1] === "." || token[at] === ".";
}
