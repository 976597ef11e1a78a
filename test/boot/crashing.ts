// A front thread whose handler has a bug: /crash throws, /crash-late throws after the handler returned, /grow fills its heap.
import { parentPort, workerData } from "node:worker_threads";
import { startFront } from "../../src/boot/front.ts";
import type { FrontData } from "../../src/boot/messages.ts";
import type { FrontServer } from "../../src/boot/server.ts";
import { Openings } from "../../src/http/openings.ts";
import { Toy } from "../http/toy.ts";

const toy = new Toy();
let kept: object | undefined;

/** A leak. */
function grow(): void {
  for (let count = 0; count < 3_000; count += 1) kept = { count, before: kept };
}

const data = workerData as FrontData;

const server: FrontServer = {
  openings: new Openings(),
  handle: (exchange) => {
    if (exchange.path === "/crash") throw new Error("A bug");
    if (exchange.path === "/crash-late") void Promise.reject(new Error("A late bug"));
    if (exchange.path === "/grow") setInterval(grow, 2);
    if (exchange.path === "/which") exchange.send(200, [], data.name);
    else toy.handle(exchange);
  },
  listening: () => undefined,
  shutdown: () => {},
  endWatches: () => Promise.resolve(),
  spansTaken: () => undefined,
  queued: () => 0,
  fault: () => {},
  collect: () => ({ families: [] }),
  handshakeFailed: () => {},
  logAt: () => {},
  reload: () => {},
  gathered: () => {},
  flowTold: () => {},
  close: () => {
    data.logPort.close();
    data.storePort.close();
  },
};

if (parentPort !== null) await startFront(data, parentPort, () => Promise.resolve(server));
