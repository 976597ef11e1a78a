// What signers sign, and the texts they refuse with: one row per case.
import t from "tap";
import { signerNames } from "../../src/config/signingflags.ts";
import { readSigningRequest } from "../../src/pki/csr.ts";
import { signers } from "../../src/pki/signers/table.ts";
import {
  commonName,
  nodeSubject,
  organization,
  type RequestShape,
  requestDer,
  requestPem,
} from "../support/signing.ts";

const client = ["client auth"];
const nodeClient = ["digital signature", "key encipherment", "client auth"];
const nodeServer = ["server auth", "digital signature", "key encipherment"];
const unit = "55040b";
const names = { dns: [0x82, "n1.example.com"], email: [0x81, "a@b"], ip: [0x87, Buffer.from([10, 0, 0, 7])] } as const;
const uri = [0x86, "spiffe://a/b"] as const;

type Row = readonly [what: string, shape: RequestShape, usages: readonly string[], refused?: string];

const organizationFault = "subject organization is not system:nodes";
const nameFault = "subject common name does not begin with system:node:";
const clientUsages = "usages did not match [client auth digital signature key encipherment]";
const servingUsages = "usages did not match [digital signature key encipherment server auth]";

/** The subject and names of nodes, as both of their signers see them. */
const nodeRows = (usages: readonly string[], shape: RequestShape): Row[] => [
  ["a node", { ...shape, subject: nodeSubject }, usages],
  ["only the prefix", { ...shape, subject: [...nodeSubject.slice(0, 1), [commonName, "system:node:"]] }, usages],
  ["a unit beside it", { ...shape, subject: [...nodeSubject, [unit, "u"]] }, usages],
  ["the last of two common names", { ...shape, subject: [[commonName, "x"], ...nodeSubject] }, usages],
  ["no organization", { ...shape, subject: nodeSubject.slice(1) }, usages, organizationFault],
  ["another one", { ...shape, subject: [[organization, "nodes"], ...nodeSubject.slice(1)] }, usages, organizationFault],
  ["a second one", { ...shape, subject: [[organization, "x"], ...nodeSubject] }, usages, organizationFault],
  [
    "the same one twice",
    { ...shape, subject: [...nodeSubject.slice(0, 1), ...nodeSubject] },
    usages,
    organizationFault,
  ],
  [
    "another name",
    { ...shape, subject: [...nodeSubject.slice(0, 1), [commonName, "system:nodes:n1"]] },
    usages,
    nameFault,
  ],
  ["another last name", { ...shape, subject: [...nodeSubject, [commonName, "admin"]] }, usages, nameFault],
  ["no name", { ...shape, subject: nodeSubject.slice(0, 1) }, usages, nameFault],
];

const table: Readonly<Record<string, readonly Row[]>> = {
  "kubernetes.io/kube-apiserver-client": [
    ["any user", { subject: [[commonName, "dev"]] }, client],
    ["no user", {}, client],
    ["every name", { names: [names.dns, names.email, names.ip, uri] }, client],
    ["all that is allowed", {}, nodeClient],
    ["no client", {}, ["digital signature"], "missing required usage for client certificate: client auth"],
    ["nothing", {}, [], "missing required usage for client certificate: client auth"],
    ["a server", {}, ["server auth"], "invalid usage for client certificate: server auth"],
    ["a server, too", {}, [...nodeClient, "server auth"], "invalid usage for client certificate: server auth"],
    ["the first of two", {}, ["any", "cert sign"], "invalid usage for client certificate: any"],
    ["an alias", {}, ["client auth", "signing"], "invalid usage for client certificate: signing"],
  ],
  "kubernetes.io/kube-apiserver-client-kubelet": [
    ...nodeRows(nodeClient, {}),
    ["a host", { subject: nodeSubject, names: [names.dns] }, nodeClient, "DNS subjectAltNames are not allowed"],
    ["an address", { subject: nodeSubject, names: [names.ip] }, nodeClient, "IP subjectAltNames are not allowed"],
    ["mail", { subject: nodeSubject, names: [names.email] }, nodeClient, "Email subjectAltNames are not allowed"],
    ["a URI", { subject: nodeSubject, names: [uri] }, nodeClient, "URI subjectAltNames are not allowed"],
    [
      "mail before addresses",
      { subject: nodeSubject, names: [names.ip, names.email] },
      nodeClient,
      "Email subjectAltNames are not allowed",
    ],
    ["the organization before names", { names: [names.ip] }, nodeClient, organizationFault],
    [
      "names before the name",
      { subject: nodeSubject.slice(0, 1), names: [uri] },
      nodeClient,
      "URI subjectAltNames are not allowed",
    ],
    ["no encipherment", { subject: nodeSubject }, ["digital signature", "client auth"], clientUsages],
    ["more", { subject: nodeSubject }, [...nodeClient, "server auth"], clientUsages],
    ["one twice", { subject: nodeSubject }, ["client auth", "client auth", "digital signature"], clientUsages],
  ],
  "kubernetes.io/kubelet-serving": [
    ...nodeRows(nodeServer, { names: [names.dns] }),
    ["an address", { subject: nodeSubject, names: [names.ip] }, nodeServer],
    ["no host", { subject: nodeSubject }, nodeServer, "DNS or IP subjectAltName is required"],
    ["mail alone", { subject: nodeSubject, names: [names.email] }, nodeServer, "DNS or IP subjectAltName is required"],
    [
      "mail, too",
      { subject: nodeSubject, names: [names.dns, names.email] },
      nodeServer,
      "Email subjectAltNames are not allowed",
    ],
    ["a URI, too", { subject: nodeSubject, names: [names.ip, uri] }, nodeServer, "URI subjectAltNames are not allowed"],
    ["a client", { subject: nodeSubject, names: [names.dns] }, nodeClient, servingUsages],
    ["a client, too", { subject: nodeSubject, names: [names.dns] }, [...nodeServer, "client auth"], servingUsages],
  ],
  "kubernetes.io/legacy-unknown": [
    ["anything", { names: [names.dns, uri] }, ["cert sign", "any"]],
    ["nothing", {}, []],
  ],
};

t.test("signers sign what upstream's do, and refuse the rest in its words", (t) => {
  for (const { name, faultOf } of signers) {
    for (const [what, shape, usages, refused] of table[name] ?? []) {
      const request = readSigningRequest(requestPem(requestDer(shape)));
      if (typeof request === "string") t.fail(`${name}: ${what}: ${request}`);
      else t.equal(faultOf({ request, usages }), refused, `${name}: ${what}`);
    }
  }
  t.end();
});

t.test("every signer has rows here, a line in its table and flags", (t) => {
  const known = signers.map(({ name }) => name);
  t.same(Object.keys(table), known);
  t.same(signerNames, known);
  t.end();
});
