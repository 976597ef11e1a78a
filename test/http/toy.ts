// A toy handler and raw sockets for the suites of test/http: what is sent and seen is bytes, no client library between.
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { AnswerStream, Exchange } from "../../src/request/exchange/transport.ts";

/** Everything the toy was asked, in order: `METHOD path`. */
export class Toy {
  readonly seen: string[] = [];
  readonly streams: AnswerStream[] = [];
  aborts = 0;
  /** The address of the one who went away last. */
  gone = "";
  #held: (() => void)[] = [];

  /** Lets the answers to /held go. */
  release(): void {
    for (const go of this.#held) go();
    this.#held = [];
  }

  readonly handle = (exchange: Exchange): void => {
    this.seen.push(`${exchange.method} ${exchange.path}`);
    exchange.onAbort(() => {
      this.aborts += 1;
      this.gone = exchange.remote;
    });
    if (exchange.query === "asked") void exchange.remote;
    void this.#answer(exchange);
  };

  async #answer(exchange: Exchange): Promise<void> {
    const json = [["Content-Type", "application/json"]] as const;
    switch (exchange.path) {
      case "/echo": {
        const body = await exchange.body(3 * 1024 * 1024);
        if (body === "aborted") return;
        if (body === "too-large") exchange.send(413, json, "too large");
        else exchange.send(200, [["Content-Type", "application/octet-stream"]], body);
        return;
      }
      case "/later": {
        await new Promise<void>((resolve) => this.#held.push(resolve));
        const body = await exchange.body(3 * 1024 * 1024);
        exchange.send(200, json, body instanceof Uint8Array ? String(body.length) : body);
        return;
      }
      case "/describe": {
        const { method, path, query, headers, remote, clipsValues } = exchange;
        exchange.send(200, json, JSON.stringify({ method, path, query, headers, remote, clipsValues }));
        return;
      }
      case "/late":
        await new Promise((resolve) => setTimeout(resolve, 30));
        exchange.send(200, json, "late");
        return;
      case "/held":
        await new Promise<void>((resolve) => this.#held.push(resolve));
        exchange.send(200, json, "held");
        return;
      case "/inject":
        exchange.send(
          200,
          [
            ["X-Evil", "a\r\nX-Split: 1\r\n\r\nHTTP/1.1 200 OK"],
            ["Warning", '299 - "grüße\u0000"'],
          ],
          "ok",
        );
        return;
      case "/shared": {
        // A slice of the log: it may be recycled in any later turn.
        const slice = new Uint8Array(new SharedArrayBuffer(200_000)).fill(0x61);
        exchange.send(200, json, slice);
        slice.fill(0x62);
        return;
      }
      case "/shared-large": {
        const slice = new Uint8Array(new SharedArrayBuffer(1_500_000)).fill(0x61);
        exchange.send(200, json, slice);
        slice.fill(0x62);
        return;
      }
      case "/big":
        exchange.send(200, [["Content-Type", "application/octet-stream"]], Buffer.alloc(5_000_000, "0123456789"));
        return;
      case "/none":
        exchange.send(204, json, "");
        return;
      case "/stream":
        this.streams.push(exchange.stream(200, json));
        return;
      case "/opening":
        this.streams.push(exchange.stream(200, json, { opening: 0x61 }));
        return;
      case "/measured":
        this.streams.push(exchange.stream(200, json, { length: 600_000 }));
        return;
      case "/never":
        return;
      default:
        exchange.send(200, json, `${exchange.method} ${exchange.path}`);
    }
  }
}

/** How to reach a front under test. */
export interface Target {
  readonly port: number;
  /** PEM of the CA; undefined: plain HTTP. */
  readonly ca: string | undefined;
}

/** A raw connection that remembers what came back. */
export class Wire {
  readonly socket: Socket;
  received = "";
  bytes = 0;
  closed = false;
  #wake: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.received += chunk.toString("latin1");
      this.bytes += chunk.length;
      this.#changed();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.closed = true;
      this.#changed();
    });
  }

  /** `client`: the certificate it presents. */
  static open(target: Target, client?: { readonly cert: string; readonly key: string }): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: target.port, noDelay: true };
      const ready = (): void => resolve(new Wire(socket));
      const socket: Socket =
        target.ca === undefined
          ? connectTcp(options, ready)
          : connectTls({ ...options, ...client, ca: target.ca, servername: "localhost" }, ready);
      socket.once("error", reject);
    });
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }

  send(bytes: string | Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  }

  /** Waits until `done` holds, at most `msMax`; true when it does. */
  async until(done: (wire: Wire) => boolean, msMax = 20_000): Promise<boolean> {
    const deadline = performance.now() + msMax;
    for (;;) {
      if (done(this)) return true;
      const left = deadline - performance.now();
      if (left <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  cut(): void {
    this.socket.destroy();
  }
}

/** The status codes of the answers in `received`, in order. */
export function codes(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
}
