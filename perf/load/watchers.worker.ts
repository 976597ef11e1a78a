// A thread of watch clients: raw TLS sockets, one watch each. Counts what arrives, checks that nothing is missing or
// torn, and keeps a histogram of how long events were under way. Some clients never read.

import { connect, type TLSSocket } from "node:tls";
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../../src/base/assert.ts";
import { Histogram } from "./histogram.ts";
import { ChunkReader, type Findings, LineReader, microseconds } from "./lines.ts";

/** What a thread of watchers is told. */
export interface WatchersData {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly token: string;
  readonly path: string;
  readonly count: number;
  /** Objects of the load, and the change of each that is already there. */
  readonly objects: number;
  readonly first: number;
  /** These clients read their headers and then nothing. */
  readonly stuck: boolean;
}

/** What a thread of watchers says when asked. */
export interface WatchersReport {
  readonly open: number;
  readonly events: number;
  readonly bytes: number;
  readonly gaps: number;
  readonly torn: number;
  readonly errors: number;
  readonly closed: number;
  /** Buckets of Histogram. */
  readonly latencies: Float64Array<ArrayBuffer>;
}

const data = workerData as WatchersData;
const port = parentPort;
assert(port !== null, "Not started as a worker");

let latencies = new Histogram();
let closed = 0;
let open = 0;
const found: Findings = {
  events: 0,
  bytes: 0,
  gaps: 0,
  torn: 0,
  errors: 0,
  latency: (sentUs) => latencies.add(microseconds() - sentUs),
};
const sockets: TLSSocket[] = [];

const request =
  `GET ${data.path} HTTP/1.1\r\nHost: ${data.host}:${data.port}\r\n` +
  `Authorization: Bearer ${data.token}\r\nAccept: application/json\r\n\r\n`;

function watch(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: data.host, port: data.port, ca: data.ca, ALPNProtocols: ["http/1.1"] });
    sockets.push(socket);
    const lines = new LineReader(found, data.objects, data.first);
    const chunks = new ChunkReader(
      (bytes, from, end) => lines.push(bytes, from, end),
      () => socket.destroy(),
    );
    let head: Buffer | undefined = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      if (head === undefined) return chunks.push(bytes, 0);
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      if (!text.startsWith("HTTP/1.1 200 ") || !/transfer-encoding: chunked/i.test(text)) {
        return reject(new Error(`Not a watch: ${head.toString("latin1", 0, 500)}`));
      }
      open += 1;
      resolve();
      const rest = head;
      head = undefined;
      if (data.stuck) socket.pause();
      else chunks.push(rest, end + 4);
    });
    socket.once("secureConnect", () => socket.write(request));
    socket.on("error", (error) => reject(error));
    socket.on("close", () => {
      closed += 1;
      open -= 1;
    });
  });
}

/** Connects at most 50 at a time: a handshake takes half a millisecond of each side. */
async function start(): Promise<void> {
  for (let made = 0; made < data.count; made += 50) {
    await Promise.all(Array.from({ length: Math.min(50, data.count - made) }, watch));
  }
}

function report(): WatchersReport {
  const { events, bytes, gaps, torn, errors } = found;
  return { open, events, bytes, gaps, torn, errors, closed, latencies: latencies.buckets };
}

port.on("message", (message: "report" | "reset" | "stop") => {
  if (message === "reset") latencies = new Histogram();
  port.postMessage(report());
  if (message !== "stop") return;
  for (const socket of sockets) socket.destroy();
  port.close();
});

start().then(
  () => port.postMessage("open"),
  (error: unknown) => {
    throw error;
  },
);
