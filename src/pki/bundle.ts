// A file of certificates that may change while the server runs: authorities that clients or other servers are verified
// against. A file that is unreadable or has no usable certificate changes nothing.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { nextPemBlock } from "./pem.ts";

/** The certificates of a text, or an error message. Blocks of other types are skipped (upstream). */
export function parseCertificates(pem: string): X509Certificate[] | string {
  const found: X509Certificate[] = [];
  for (let next = nextPemBlock(pem); next !== undefined; next = nextPemBlock(next.rest)) {
    if (next.block.type !== "CERTIFICATE" || next.block.hasHeaders) continue;
    try {
      found.push(new X509Certificate(next.block.bytes));
    } catch {
      return "it holds a certificate that cannot be read";
    }
  }
  return found.length === 0 ? "it holds no certificate" : found;
}

/** Reads a file of certificates; returns an error message for an invalid one. */
export function readCertificates(path: string): { pem: string; certificates: X509Certificate[] } | string {
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (error) {
    return `it cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`;
  }
  const certificates = parseCertificates(pem);
  return typeof certificates === "string" ? certificates : { pem, certificates };
}

/** The certificates of a file as it was when it was read last with success. */
export class Bundle {
  readonly path: string;
  #pem = "";
  #certificates: readonly X509Certificate[] = [];
  #version = 0;

  constructor(path: string) {
    this.path = path;
    this.reload();
  }

  get pem(): string {
    return this.#pem;
  }

  get certificates(): readonly X509Certificate[] {
    return this.#certificates;
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** Reads the file again; returns an error message when the known certificates are kept. */
  reload(): string | undefined {
    const read = readCertificates(this.path);
    if (typeof read === "string") return read;
    if (read.pem === this.#pem) return undefined;
    this.#pem = read.pem;
    this.#certificates = read.certificates;
    this.#version += 1;
    return undefined;
  }
}
