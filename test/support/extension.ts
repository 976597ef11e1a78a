// A real extension server of the tests' own, and the objects that lead to it. It speaks HTTPS and answers as a test says.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueServing } from "../../src/pki/x509.ts";
import type { InProcess } from "./inprocess.ts";

/** A request as the extension server saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  /** Names in lower case; each with all its values. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  /** Common name of the certificate it was shown. */
  readonly shown: string | undefined;
}

/** What it does with a request whose body was read. */
export type Answering = (request: IncomingMessage, response: ServerResponse, seen: Seen) => void;

/** A running one. */
export interface ExtensionServer {
  readonly port: number;
  /** PEM of the authority of its certificate. */
  readonly authority: string;
  readonly seen: Seen[];
  readonly server: Server;
  /** Connections that are open. */
  readonly open: ReadonlySet<Socket>;
  answer: Answering;
  close(): void;
}

const day = 86_400_000;

/** Opens one whose certificate is for `names`; it asks for a certificate and looks at none. */
export async function openExtension(
  answer: Answering,
  names: string[] = ["ext.ns.svc"],
  port = 0,
): Promise<ExtensionServer> {
  const validity = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };
  const authority = await createAuthority("extension", validity);
  const { certificate, key } = await issueServing(authority, names, validity);
  const server = createServer({ cert: certificate, key, requestCert: true, rejectUnauthorized: false });
  const open = new Set<Socket>();
  const seen: Seen[] = [];
  const extension = {
    port: 0,
    authority: authority.certificate,
    seen,
    server,
    open,
    answer,
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
  server.on("secureConnection", (socket: TLSSocket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => undefined);
  });
  server.on("request", (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const one = seenOf(request, Buffer.concat(chunks).toString());
      seen.push(one);
      extension.answer(request, response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  extension.port = (server.address() as AddressInfo).port;
  return extension;
}

/** A request as it came. */
export function seenOf(request: IncomingMessage, body: string): Seen {
  const headers: Record<string, string[]> = {};
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    const value = Buffer.from(request.rawHeaders[at + 1] ?? "", "latin1").toString();
    (headers[(request.rawHeaders[at] ?? "").toLowerCase()] ??= []).push(value);
  }
  const shown = (request.socket as TLSSocket).getPeerCertificate()?.subject as { CN?: string } | undefined;
  return { method: request.method ?? "", url: request.url ?? "", headers, body, shown: shown?.CN };
}

/** Answers with JSON. */
export function say(response: ServerResponse, value: unknown, code = 200): void {
  response.writeHead(code, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}

/** Of an API service. */
export interface Registration {
  readonly group: string;
  readonly port: number;
  /** Namespace and name of its service; default: ns/ext. */
  readonly service?: string;
  /** PEM. */
  readonly authority?: string;
  readonly available?: boolean;
}

/** Makes the service ns/ext that leads to this machine by an external name. */
export async function makeService(server: InProcess, name = "ext", spec: object = outside): Promise<void> {
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "ns" } });
  const made = await server.call("POST", "/api/v1/namespaces/ns/services", { metadata: { name }, spec });
  if (made.code !== 201) throw new Error(made.text);
}

const outside = { type: "ExternalName", externalName: "127.0.0.1" };

/** Registers a group's v1 and says that it is available, which a controller would find out. */
export async function register(
  server: InProcess,
  { group, port, service = "ext", authority, available = true }: Registration,
): Promise<void> {
  const path = "/apis/apiregistration.k8s.io/v1/apiservices";
  const trust =
    authority === undefined ? { insecureSkipTLSVerify: true } : { caBundle: Buffer.from(authority).toString("base64") };
  const made = await server.call("POST", path, {
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: "v1",
      groupPriorityMinimum: 1000,
      versionPriority: 10,
      service: { namespace: "ns", name: service, port },
      ...trust,
    },
  });
  if (made.code !== 201) throw new Error(made.text);
  const conditions = [
    { type: "Available", status: available ? "True" : "False", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  const told = await server.call("PUT", `${path}/v1.${group}/status`, { ...made.json, status: { conditions } });
  if (told.code !== 200) throw new Error(told.text);
}
