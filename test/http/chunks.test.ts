// Answers in chunks over real sockets, on every front: compressed ones are nothing but what they say they are.
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { noTrace } from "../../src/observe/trace.ts";
import { mediaTypes } from "../../src/request/negotiate.ts";
import type { Reply } from "../../src/request/respond.ts";
import { sendChunks } from "../../src/request/stream.ts";
import type { Exchange } from "../../src/request/transport.ts";
import { fronts, Stand } from "./fronts.ts";
import type { Target } from "./toy.ts";

const types = mediaTypes(identities.kubernetes);
const held = { expired: false, release: () => undefined };
const chunkBytes = 300_000;
const chunkCount = 5;

/** What the answer says: digits that differ from chunk to chunk. */
function chunkAt(index: number): Buffer {
  return Buffer.alloc(chunkBytes, String(index));
}

function answer(exchange: Exchange): void {
  const reply: Reply = { exchange, types, extra: [], answered: () => undefined, trace: noTrace };
  let next = 1;
  const chunks = {
    get done() {
      return next === chunkCount;
    },
    next: () => chunkAt(next++),
  };
  void sendChunks(reply, chunks, chunkAt(0), held, "application/json", exchange.query === "gzip");
}

function fetchBytes({ port, ca }: Target, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = ca === undefined ? httpRequest : httpsRequest;
    request({ host: "127.0.0.1", port, path, ca, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => resolve(Buffer.concat(pieces)));
      response.on("error", reject);
    })
      .on("error", reject)
      .end();
  });
}

const whole = Buffer.concat(Array.from({ length: chunkCount }, (_, index) => chunkAt(index)));

for (const front of fronts) {
  const name = `${front.name} ${front.secure ? "TLS" : "plain"}`;
  t.test(`sendChunks() sends the same document plain and gzipped on ${name}`, async (t) => {
    const stand = await Stand.open(front, undefined, answer);
    t.teardown(() => stand.close());
    t.equal((await fetchBytes(stand.target, "/plain")).toString().trim(), whole.toString());
    const packed = await fetchBytes(stand.target, "/packed?gzip");
    t.equal(packed[0], 0x1f, "a gzipped body begins with its magic number");
    t.ok(gunzipSync(packed).equals(whole));
  });
}
