// Connections that speak another protocol through this server: bytes pass both ways as they come, and are not looked at.
// They begin when the other server switched to a protocol the client named, and not before (CVE-2018-1002105).
import type { Socket } from "node:net";
import { IncomingMessage } from "../../base/http.ts";
import { limits } from "../../config/limits.ts";
import { CallFailure } from "../../outbound/client.ts";
import type { Switched, Upgrading } from "../../outbound/streams.ts";
import type { BytesUpgrade, Exchange, Headers, Tunnel } from "../exchange/transport.ts";
import type { Time } from "./relay.ts";

/**
 * Protocols in which a client could send requests of its own to a server that believes our certificate, and the user
 * named beside it: HTTP itself, and what it can be spoken in.
 */
const requestProtocols = /^(?:h2c?|http|tls)(?:$|\/)/i;

/** A name, and perhaps a version (RFC 9110 7.8): quotes around a name must not hide it. */
const protocolForm = /^[\w!#$%&'*+.^`|~-]+(?:\/[\w!#$%&'*+.^`|~-]+)?$/;

/** The protocols a client names, in lower case. */
function namesOf(protocol: string): string[] {
  return protocol.split(",").map((name) => name.trim().toLowerCase());
}

/** Why an upgrade is not passed on; undefined: it is. */
export function upgradeFault(protocol: string): string | undefined {
  const refused = namesOf(protocol).find((name) => !protocolForm.test(name) || requestProtocols.test(name));
  return refused === undefined ? undefined : `an upgrade to ${JSON.stringify(refused)} is not passed on`;
}

/**
 * Waits for the other server's answer. A text says why none of it can be passed on; the connection is closed then.
 * Resolves with "late" or "gone" as headOf() does.
 */
export async function switchOf(
  upgrading: Upgrading,
  protocol: string,
  exchange: Exchange,
  { leftMs }: Time,
): Promise<Switched | IncomingMessage | CallFailure | "late" | "gone" | string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(resolve, Math.max(0, leftMs()), "late");
  });
  const gone = new Promise<"gone">((resolve) => exchange.onAbort(() => resolve("gone")));
  const first = await Promise.race([upgrading.answer, late, gone]);
  clearTimeout(timer);
  if (first instanceof IncomingMessage) {
    // Upstream's words; what is an error already is one for the client, too.
    if ((first.statusCode ?? 0) >= 400) return first;
    upgrading.cut();
    return `invalid upgrade response: status code ${first.statusCode}`;
  }
  if (first instanceof CallFailure || typeof first === "string") {
    upgrading.cut();
    // It may have switched meanwhile.
    void upgrading.answer.then((answer) => {
      if ("socket" in answer && answer.socket !== null) answer.socket.destroy();
    });
    return first;
  }
  const answered = (first.response.headers.upgrade ?? "").toLowerCase();
  if (answered !== "" && namesOf(protocol).includes(answered)) return first;
  first.socket.destroy();
  return `invalid upgrade response: protocol ${JSON.stringify(answered)}`;
}

/** Headers of the 101, as the other server sent them, without what is about its own connection. */
export function switchHeaders({ response }: Switched, passed: Headers): Headers {
  return [["Connection", "Upgrade"], ["Upgrade", response.headers.upgrade ?? ""], ...passed];
}

/**
 * Passes bytes until one side ends, which ends the other (there is no half of it); resolves then. `started` is handed
 * what ends both.
 */
export function splice(
  upgrade: BytesUpgrade,
  headers: Headers,
  { socket, head }: Switched,
  started: (finish: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const tunnel = upgrade.accept(headers);
    let isOver = false;
    const finish = (): void => {
      if (isOver) return;
      isOver = true;
      tunnel.end();
      socket.destroySoon();
      // Of a side that takes nothing there is no end to wait for.
      setTimeout(() => {
        tunnel.cut();
        socket.destroy();
      }, limits.tunnelEndMsMax).unref();
      resolve();
    };
    pump(socket, tunnel, head);
    socket.on("end", finish);
    socket.on("close", finish);
    tunnel.onClose(finish);
    tunnel.read((chunk) => {
      if (!isOver && !socket.write(chunk)) tunnel.pause();
    });
    socket.on("drain", () => tunnel.resume());
    socket.resume();
    started(finish);
  });
}

/** From the other server to the client. */
function pump(socket: Socket, tunnel: Tunnel, head: Uint8Array): void {
  socket.on("data", (chunk: Buffer) => {
    if (!tunnel.write(chunk)) socket.pause();
  });
  tunnel.onDrain(() => socket.resume());
  if (head.length > 0 && !tunnel.write(head)) socket.pause();
}
