// Stands between a program of upstream's and a server with `--identity=orch`: requests arrive in upstream's names and
// are sent on in the server's, answers the other way around (upstreamnames.ts). For tests only: it listens on the
// loopback without TLS, and every client acts as the user of its token.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { Transform, type TransformCallback } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { fromUpstream, targetFromUpstream, toUpstream } from "./upstreamnames.ts";

/** Where requests go, and as whose. */
export interface Target {
  /** Such as `https://127.0.0.1:6443`. */
  readonly base: string;
  /** PEM of the authority of the server's certificate. */
  readonly ca: string;
  readonly token: string;
}

/** A proxy that listens. */
export interface UpstreamProxy {
  /** Such as `http://127.0.0.1:8080`. */
  readonly base: string;
  /** Ends it, and every request that is under way. */
  close(): void;
}

/** Headers of one connection, and those the proxy sets itself. */
const notPassedOn = new Set([
  ...["connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"],
  ...["host", "content-length", "accept-encoding", "authorization"],
]);

/** Opens a proxy on a free port of the loopback. */
export async function openUpstreamProxy(target: Target): Promise<UpstreamProxy> {
  const agent = new Agent({ keepAlive: true, ca: target.ca });
  const server = createServer((received, response) => {
    passOn(received, response, target, agent).catch((error: Error) => {
      // Either end may close a watch at any time; an answer that has begun can only be cut off.
      if (response.headersSent) response.destroy();
      else refuse(response, 502, `${received.method} ${received.url} could not be passed on: ${error.message}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
    agent.destroy();
  };
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function passOn(received: IncomingMessage, response: ServerResponse, target: Target, agent: Agent) {
  const accept = withoutProtobuf(received.headers.accept ?? "*/*");
  if (accept === "")
    return refuse(response, 406, "names cannot be rewritten in protobuf: accept application/json, too");
  if (received.headers["content-type"]?.includes("protobuf")) {
    return refuse(response, 415, "names cannot be rewritten in protobuf: send application/json");
  }
  const body = fromUpstream(await text(received));
  const sent = request(target.base + targetFromUpstream(received.url ?? "/"), {
    method: received.method,
    agent,
    headers: {
      ...passed(received.headers, fromUpstream),
      accept: fromUpstream(accept),
      authorization: `Bearer ${target.token}`,
      ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
    },
  });
  response.once("close", () => sent.destroy());
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    sent.once("response", resolve).once("error", reject),
  );
  sent.end(body);
  const answer = await answered;
  response.writeHead(answer.statusCode ?? 502, passed(answer.headers, toUpstream));
  // A watch may have nothing to say for long, and its client waits for the headers.
  response.flushHeaders();
  await pipeline(answer, new LineRewriter(toUpstream), response);
}

/** `Accept` without media types that are no text. */
function withoutProtobuf(accept: string): string {
  return accept
    .split(",")
    .filter((type) => !type.includes("protobuf"))
    .join();
}

function passed(headers: IncomingMessage["headers"], rewrite: (text: string) => string) {
  const kept = Object.entries(headers).filter(([name]) => !notPassedOn.has(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, Array.isArray(value) ? value.map(rewrite) : rewrite(value ?? "")]),
  );
}

/** Answers in the proxy's own name, as a Status. */
function refuse(response: ServerResponse, code: number, message: string): void {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, code };
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(status));
}

/**
 * Rewrites line by line, for a chunk may end inside a name and no name holds a line break. An event of a watch is a line
 * and goes on when it ends; a list is one line and goes on as a whole.
 */
export class LineRewriter extends Transform {
  readonly #rewrite: (text: string) => string;
  /** The beginning of a line that has not ended, as it came. */
  #rest: Buffer[] = [];

  constructor(rewrite: (text: string) => string) {
    super();
    this.#rewrite = rewrite;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    const end = chunk.lastIndexOf("\n") + 1;
    if (end > 0) {
      const lines = Buffer.concat([...this.#rest, chunk.subarray(0, end)]);
      this.#rest = [];
      this.push(this.#rewrite(lines.toString()));
    }
    if (end < chunk.length) this.#rest.push(chunk.subarray(end));
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#rest.length > 0) this.push(this.#rewrite(Buffer.concat(this.#rest).toString()));
    done();
  }
}
