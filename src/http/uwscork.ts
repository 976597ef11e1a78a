// A cork of the uWS build that belongs to no client. The build warns, with a line each time, of an upgrade outside of a
// cork; in the cork of the connection itself it may close the WebSocket right away (uwssocket.ts). So the front holds an
// answer of its own that never ends, on a connection to itself within this machine.
import { connect, type Socket } from "node:net";
import type { App, HttpResponse, Library } from "./uwsbuild.ts";

const host = "127.0.0.1";

/** The one of a front. */
export class SpareCork {
  readonly #uws: Library;
  #app: App | undefined;
  #client: Socket | undefined;
  #answer: HttpResponse | undefined;

  constructor(uws: Library) {
    this.#uws = uws;
  }

  /** Makes it, when the first request arrives that may need it; it is there some milliseconds later. */
  open(): void {
    if (this.#app !== undefined) return;
    const app = this.#uws.App();
    this.#app = app;
    app.any("/*", (res) => {
      res.onAborted(() => {
        if (this.#answer === res) this.close();
      });
      this.#answer = res;
    });
    app.listen(host, 0, (listening) => {
      if (listening === false) return;
      const client = connect(this.#uws.us_socket_local_port(listening), host);
      this.#client = client;
      client.unref();
      client.on("connect", () => client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
      client.on("error", () => undefined);
      // Accepted or not: the one connection is all there is.
      client.on("ready", () => setImmediate(() => this.#uws.us_listen_socket_close(listening)));
      client.on("close", () => {
        if (this.#client === client) this.close();
      });
    });
  }

  /** Calls `write` inside of it; without any where there is none, which costs the warning. */
  run(write: () => void): void {
    if (this.#answer === undefined) write();
    else this.#answer.cork(write);
  }

  /** Ends it; the next open() makes another. */
  close(): void {
    const app = this.#app;
    this.#app = undefined;
    this.#answer = undefined;
    this.#client?.destroy();
    this.#client = undefined;
    app?.close();
  }
}
