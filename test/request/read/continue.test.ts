import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { isStatus } from "../../../src/api/status.ts";
import { decodeContinue, encodeContinue } from "../../../src/request/read/continue.ts";

const identity = identities.kubernetes;
const of = "/registry/pods/a";
const forge = (token: unknown): string => Buffer.from(JSON.stringify(token)).toString("base64url");

t.test("decodeContinue() returns what encodeContinue() wrote", (t) => {
  for (const token of [
    { revision: 7, start: "x\0", remaining: 3 },
    { revision: -1, start: "ns/é\u{1F600}\0", remaining: -1 },
  ]) {
    t.same(decodeContinue(identity, of, encodeContinue(identity, of, token)), token);
  }
  t.end();
});

t.test("decodeContinue() refuses forged, foreign and climbing tokens with 400", (t) => {
  const v = "meta.k8s.io/v1";
  const rows: [why: string, token: string][] = [
    ["not base64url", "a b"],
    ["not JSON", "garbage"],
    ["JSON null", forge(null)],
    ["no version", forge({})],
    ["another version", forge({ v: "v9", rv: 1, start: "x" })],
    ["another identity", encodeContinue(identities.orch, of, { revision: 7, start: "x\0", remaining: 1 })],
    ["another collection", encodeContinue(identity, "/registry/pods/b", { revision: 7, start: "x\0", remaining: 1 })],
    ["revision 0", forge({ v, rv: 0, start: "x" })],
    ["negative revision", forge({ v, rv: -2, start: "x" })],
    ["huge revision", forge({ v, rv: 2 ** 63, start: "x" })],
    ["fractional revision", forge({ v, rv: 1.5, start: "x" })],
    ["text revision", forge({ v, rv: "7", start: "x" })],
    ["no start", forge({ v, rv: 7 })],
    ["empty start", forge({ v, rv: 7, start: "" })],
    ["absolute start", forge({ v, rv: 7, start: "/x" })],
    ["parent", forge({ v, rv: 7, start: "../b/x" })],
    ["inner parent", forge({ v, rv: 7, start: "a/../x" })],
    ["dot", forge({ v, rv: 7, start: "./x" })],
    ["double slash", forge({ v, rv: 7, start: "a//x" })],
    ["prototype version", forge(JSON.parse(`{"__proto__":{"v":"${v}"},"rv":7,"start":"x"}`))],
  ];
  for (const [why, token] of rows) {
    const decoded = decodeContinue(identity, of, token);
    t.ok(isStatus(decoded) && decoded.code === 400, why);
  }
  t.end();
});
