// A real HTTPS server that answers as a test says: what webhooks and identity providers are in the tests.

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, issueServing } from "../../src/pki/x509.ts";

/** A running peer. */
export interface Peer {
  /** `https://127.0.0.1:port`. */
  readonly url: string;
  readonly port: number;
  /** PEM of the authority its certificate leads to. */
  readonly authority: string;
  /** Connections it took so far. */
  readonly connections: number;
  close(): void;
}

/** What a peer does with a request whose body was read. */
export type Answering = (body: string, response: ServerResponse, request: IncomingMessage) => void;

const day = 86_400_000;

/** Opens a peer for `names`. `mutual`: an authority client certificates are asked for and verified against. */
export async function openPeer(answer: Answering, names = ["127.0.0.1", "localhost"], mutual?: string): Promise<Peer> {
  const validity = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };
  const authority = await createAuthority("peer", validity);
  const { certificate, key } = await issueServing(authority, names, validity);
  const more = mutual === undefined ? {} : { ca: mutual, requestCert: true, rejectUnauthorized: true };
  const server: Server = createServer({ cert: certificate, key, ...more }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(Buffer.concat(chunks).toString(), response, request));
  });
  let connections = 0;
  server.on("secureConnection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    authority: authority.certificate,
    get connections() {
      return connections;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Answers with JSON. */
export function sayJson(response: ServerResponse, value: unknown, code = 200): void {
  response.writeHead(code, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}
