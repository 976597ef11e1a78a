// The fronts under test, each with a toy handler behind it, over TLS and without.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { limits } from "../../src/config/limits.ts";
import type { Listener, ListenOptions } from "../../src/http/listener.ts";
import { listenNode } from "../../src/http/node.ts";
import { Openings } from "../../src/http/openings.ts";
import { listenUws } from "../../src/http/uws.ts";
import { loadsUws } from "../../src/http/uwsbuild.ts";
import { keepServing, type ServingFiles } from "../../src/pki/serving.ts";
import type { Handler } from "../../src/request/exchange/transport.ts";
import { type Target, Toy, Wire } from "./toy.ts";

/** A way to serve HTTP. */
export interface FrontUnderTest {
  readonly name: "uws" | "node";
  readonly secure: boolean;
  readonly listen: (options: ListenOptions) => Promise<Listener>;
}

/** Every combination the suites run on; uws where this Node loads it. */
export const fronts: readonly FrontUnderTest[] = [true, false].flatMap((secure): FrontUnderTest[] => [
  ...(loadsUws() ? [{ name: "uws", secure, listen: listenUws } as const] : []),
  { name: "node", secure, listen: listenNode },
]);

/** A listener with its toy and a way to connect. */
export class Stand {
  readonly toy: Toy;
  readonly listener: Listener;
  readonly target: Target;
  readonly #directory: string | undefined;
  readonly #wires: Wire[] = [];

  private constructor(toy: Toy, listener: Listener, ca: string | undefined, directory: string | undefined) {
    this.toy = toy;
    this.listener = listener;
    this.target = { port: listener.port, ca };
    this.#directory = directory;
  }

  /** Opens one; `handle` takes the toy's place. */
  static async open(
    front: FrontUnderTest,
    headMsMax: number = limits.headMsMax,
    handle: Handler | undefined = undefined,
    stallMsMax: number = limits.stallMsMax,
    openings: Openings = new Openings(),
  ): Promise<Stand> {
    const toy = new Toy();
    const options = { host: "127.0.0.1", port: 0, handle: handle ?? toy.handle, headMsMax, stallMsMax, openings };
    if (!front.secure) return new Stand(toy, await front.listen({ ...options, tls: undefined }), undefined, undefined);
    const directory = mkdtempSync(join(tmpdir(), "orch-http-"));
    const files: ServingFiles = await keepServing(directory, ["localhost", "127.0.0.1"], systemClock);
    const listener = await front.listen({ ...options, tls: files });
    return new Stand(toy, listener, readFileSync(files.caFile, "utf8"), directory);
  }

  async wire(): Promise<Wire> {
    const wire = await Wire.open(this.target);
    this.#wires.push(wire);
    return wire;
  }

  /** Sends `bytes` on a new connection and waits until `done` holds or the connection closes. */
  async ask(bytes: string | Uint8Array, done: (wire: Wire) => boolean): Promise<Wire> {
    const wire = await this.wire();
    wire.send(bytes);
    await wire.until((w) => w.closed || done(w));
    return wire;
  }

  async close(): Promise<void> {
    for (const wire of this.#wires) wire.cut();
    await this.listener.close();
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
  }
}
