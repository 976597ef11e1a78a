// Who may approve and sign, and whom no user may become.
import t from "tap";
import type { Attributes } from "../../src/authz/authorizer.ts";
import { organizationsOf } from "../../src/pki/csr.ts";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";
import { organization, requestDer, requestPem, signingRequest } from "../support/signing.ts";

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const merge = { "content-type": "application/merge-patch+json" };

async function open(): Promise<{ server: InProcess; asked: string[]; allowed: Set<string> }> {
  const server = await openInProcess();
  const asked: string[] = [];
  const allowed = new Set<string>();
  server.authorizer = {
    authorize({ verb, group, resource, name }: Attributes) {
      if (resource !== "signers") return { verdict: "allow", reason: "" };
      asked.push(`${verb} ${group} ${name}`);
      return { verdict: allowed.has(`${verb} ${name}`) ? "allow" : "none", reason: "" };
    },
  };
  return { server, asked, allowed };
}

async function create(server: InProcess, name: string, signerName: string, subject = "CN=dev"): Promise<Answer> {
  const request = Buffer.from(await signingRequest(subject)).toString("base64");
  return server.call("POST", path, { metadata: { name }, spec: { request, signerName, usages: ["client auth"] } });
}

const condition = (type: string): object => ({
  status: { conditions: [{ type, status: "True", reason: "x", message: "y" }] },
});

t.test("CertificateApproval and CertificateSigning ask for the signer, then for its domain", async (t) => {
  const { server, asked, allowed } = await open();
  await create(server, "r", "example.com/a");
  const approve = (): Promise<Answer> => server.call("PATCH", `${path}/r/approval`, condition("Approved"), merge);
  const refused = await approve();
  t.equal(refused.code, 403);
  t.equal(
    refused.json.message,
    'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to approve requests with signerName "example.com/a"',
  );
  t.same(asked.splice(0), ["approve certificates.k8s.io example.com/a", "approve certificates.k8s.io example.com/*"]);
  allowed.add("approve example.com/*");
  t.equal((await approve()).code, 200);
  asked.length = 0;
  const fail = (): Promise<Answer> => server.call("PATCH", `${path}/r/status`, condition("Failed"), merge);
  t.equal((await server.call("PATCH", `${path}/r/status`, { metadata: { labels: { a: "b" } } }, merge)).code, 200);
  t.same(asked, [], "no authorizer is asked while certificate and conditions stay");
  const unsigned = await server.call(
    "PATCH",
    `${path}/r/status`,
    {
      status: {
        conditions: [
          { type: "Approved", status: "True", reason: "other", message: "y" },
          { type: "Failed", status: "True" },
        ],
      },
    },
    merge,
  );
  t.equal(unsigned.code, 403);
  t.match(unsigned.json.message, /user not permitted to sign requests with signerName "example.com\/a"$/);
  allowed.add("sign example.com/a");
  t.not((await fail()).code, 403);
  server.close();
});

t.test("CertificateSubjectRestriction makes no client certificate of the administrators' group", async (t) => {
  const { server } = await open();
  const signer = "kubernetes.io/kube-apiserver-client";
  for (const [name, signerName, subject, code] of [
    ["plain", signer, "CN=dev,O=team", 201],
    ["masters", signer, "CN=dev,O=system:masters", 403],
    ["second", signer, "CN=dev,O=team,O=system:masters", 403],
    ["same-set", signer, "CN=dev+O=system:masters", 403],
    ["unit", signer, "CN=dev,OU=system:masters", 201],
    ["other-signer", "example.com/a", "CN=dev,O=system:masters", 201],
  ] as const) {
    const { code: got, json } = await create(server, name, signerName, subject);
    t.equal(got, code, name);
    if (code === 403) {
      t.ok(json.message.endsWith(`use of ${signer} signer with system:masters group is not allowed`), json.message);
    }
  }
  server.close();
});

t.test("organizationsOf() reads every string type, and gives up on what is none", async (t) => {
  t.same(organizationsOf(Buffer.from(await signingRequest("O=a,CN=x,O=b"))), ["a", "b"]);
  const wide = Buffer.from("system:masters", "utf16le").swap16();
  const whole = Buffer.concat([...Buffer.from("hi")].map((code) => Buffer.from([0, 0, 0, code])));
  for (const [tag, bytes, text] of [
    [0x0c, Buffer.from("é"), "é"],
    [0x13, Buffer.from("a"), "a"],
    [0x1e, wide, "system:masters"],
    [0x1c, whole, "hi"],
  ] as const) {
    const der = requestDer({ subject: [[organization, bytes, tag]] });
    t.same(organizationsOf(requestPem(der)), [text], `tag ${tag}`);
  }
  t.equal(organizationsOf(Buffer.from("junk")), undefined);
});
