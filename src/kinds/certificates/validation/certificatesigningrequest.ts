// Certificate signing requests: the request itself, who shall sign it, its conditions and the certificate.
import {
  duplicate,
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
  tooLong,
} from "../../../api/fielderror.ts";
import type * as certificates from "../../../api/gen/certificates/v1.ts";
import { GoText, quote } from "../../../api/gotext.ts";
import { faultOfSigningRequest } from "../../../pki/csr.ts";
import { nextPemBlock } from "../../../pki/pem.ts";
import { bytesOf, isDns1123Label, isDns1123Subdomain } from "../../formats.ts";
import type { StrategyContext } from "../../strategy.ts";
import { type Errors, eachItem, isFull } from "../../validation/check.ts";

const expirationSecondsMin = 600;
const domainBytesMax = 253;
const signerBytesMax = 571;
/** Bytes of a bad request a message shows. */
const shownBytesMax = 1024;

const usages: readonly string[] = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];

/** Conditions that are for good once they are there. */
const decisions: readonly string[] = ["Approved", "Denied", "Failed"];

type Request = certificates.CertificateSigningRequest;

/** Which part of a request a write may change. */
export type Part = "request" | "status" | "approval";

/** Rules of a new request. */
export function validateSigningRequest({ spec, status }: Request, { identity }: StrategyContext): FieldError[] {
  const out: Errors = [];
  const bytes = Buffer.from(spec.request ?? "", "base64");
  const fault = faultOfSigningRequest(bytes);
  if (fault !== undefined)
    out.push(invalid("spec.request", bytesText(spec.request === undefined ? undefined : bytes), fault));
  if (!spec.usages?.length) out.push(required("spec.usages", "usages must be provided"));
  eachItem(out, spec.usages, "spec.usages", (usage, path) => {
    if (!usages.includes(usage)) out.push(notSupported(path, usage, usages));
  });
  const seen = new Set<string>();
  eachItem(out, spec.usages, "spec.usages", (usage, path) => {
    if (seen.has(usage)) out.push(duplicate(path, usage));
    seen.add(usage);
  });
  if (spec.signerName === identity.spell("kubernetes.io/legacy-unknown")) {
    out.push(invalid("spec.signerName", spec.signerName, "the legacy signerName is not allowed via this API version"));
  } else checkSignerName(out, "spec.signerName", spec.signerName);
  if (spec.expirationSeconds !== undefined && spec.expirationSeconds < expirationSecondsMin) {
    const why = `may not specify a duration less than ${expirationSecondsMin} seconds (10 minutes)`;
    out.push(invalid("spec.expirationSeconds", spec.expirationSeconds, why));
  }
  checkConditions(out, status.conditions ?? []);
  checkCertificate(out, status.certificate);
  return out;
}

/** Rules of a changed request; `part` is what the write is for. */
export function validateSigningRequestUpdate(object: Request, old: Request, part: Part): FieldError[] {
  const out: Errors = [];
  const path = "status.conditions";
  checkConditions(out, object.status.conditions ?? []);
  const [certificate, before] = [object.status.certificate ?? "", old.status.certificate ?? ""];
  if (certificate !== before) checkCertificate(out, certificate);
  for (const type of decisions) {
    const [now, then] = [ofType(object, type), ofType(old, type)];
    if (now < then) out.push(forbiddenField(path, `updates may not remove a condition of type ${quote(type)}`));
    if (now > then && part !== "approval" && type !== "Failed") {
      out.push(forbiddenField(path, `updates may not add a condition of type ${quote(type)}`));
    }
  }
  if (certificate === before) return out;
  if (part !== "status") out.push(forbiddenField("status.certificate", "updates may not set certificate content"));
  else if (before !== "") {
    out.push(forbiddenField("status.certificate", "updates may not modify existing certificate content"));
  }
  return out;
}

function ofType({ status }: Request, type: string): number {
  return status.conditions?.filter((condition) => condition.type === type).length ?? 0;
}

/** `domain/name`, the domain of at least two labels. */
export function checkSignerName(out: Errors, path: string, signer: string): void {
  if (signer === "") {
    out.push(required(path, "signerName must be provided"));
    return;
  }
  const [domain, name, ...more] = signer.split("/");
  if (domain === undefined || name === undefined || more.length > 0) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    out.push(invalid(path, signer, why));
    return;
  }
  if (bytesOf(domain) > domainBytesMax) out.push(tooLong(path, domainBytesMax));
  const labels = domain.split(".");
  for (const label of labels) {
    if (isFull(out)) return;
    for (const fault of isDns1123Label(label))
      out.push(invalid(path, domain, `validating label ${quote(label)}: ${fault}`));
  }
  if (labels.length < 2) {
    out.push(invalid(path, domain, "should be a domain with at least two segments separated by dots"));
  }
  for (const fault of isDns1123Subdomain(name)) {
    out.push(invalid(path, name, `validating label ${quote(name)}: ${fault}`));
  }
  if (bytesOf(signer) > signerBytesMax) out.push(tooLong(path, signerBytesMax));
}

function checkConditions(out: Errors, conditions: readonly certificates.CertificateSigningRequestCondition[]): void {
  const seen = new Set<string>();
  eachItem(out, conditions, "status.conditions", ({ type, status }, path) => {
    if (type === "") out.push(required(`${path}.type`));
    const allowed = decisions.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") out.push(required(`${path}.status`));
    else if (!allowed.includes(status)) out.push(notSupported(`${path}.status`, status, allowed));
    if (seen.has(type)) out.push(duplicate(`${path}.type`, type));
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (other !== undefined && seen.has(other)) {
      out.push(invalid(`${path}.type`, type, "Approved and Denied conditions are mutually exclusive"));
    }
    seen.add(type);
  });
}

function checkCertificate(out: Errors, certificate: string | undefined): void {
  if (!certificate) return;
  const refuse = (why: string) => out.push(invalid("status.certificate", "<certificate data>", why));
  let rest = Buffer.from(certificate, "base64").toString("latin1");
  let count = 0;
  for (let found = nextPemBlock(rest); found !== undefined; found = nextPemBlock(rest)) {
    rest = found.rest;
    count++;
    if (found.block.type !== "CERTIFICATE") {
      refuse(`only CERTIFICATE PEM blocks are allowed, found ${quote(found.block.type)}`);
      return;
    }
    if (found.block.hasHeaders) {
      refuse("no PEM block headers are permitted");
      return;
    }
  }
  if (count === 0) refuse("must contain at least one CERTIFICATE PEM block");
}

/** Go's text of a byte slice. */
function bytesText(bytes: Buffer | undefined): GoText {
  if (bytes === undefined || bytes.length === 0) return new GoText("[]byte(nil)");
  const shown = [...bytes.subarray(0, shownBytesMax)].map((byte) => `0x${byte.toString(16)}`);
  return new GoText(`[]byte{${shown.join(", ")}}`);
}
