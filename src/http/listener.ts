// The interface of a transport to the front thread that runs it, and the handover of requests. Two implementations:
// uws.ts and node.ts.
import type { Exchange, Handler } from "../request/exchange/transport.ts";
import type { Openings } from "./openings.ts";

/** PEM files of a serving certificate. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A serving certificate for some names; a name may begin with `*.`. */
export interface NamedCertificate extends CertificateFiles {
  readonly names: readonly string[];
}

/** How TLS is spoken. All but the files of the one serving certificate and of clients' authorities is for the node front only. */
export interface TlsFiles extends CertificateFiles {
  /** The node front asks clients for a certificate; whether it is worth anything is for authentication to say. */
  readonly asksClients?: boolean;
  /** Authorities under which the uws front verifies clients in their handshakes; undefined: it asks for no certificate. */
  readonly clientCaFile?: string;
  /** `TLSv1.2` or `TLSv1.3`; default: the former. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL names, by `:`; default: the library's. */
  readonly ciphers?: string;
  /** Certificates for clients that ask for these names. */
  readonly named?: readonly NamedCertificate[];
}

/** How to listen. */
export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Lets other threads open the same port (node front, where canReusePort(); the uWS build always does). */
  readonly reusePort?: boolean;
  /** Undefined serves plain HTTP (tests only). */
  readonly tls: TlsFiles | undefined;
  readonly handle: Handler;
  /** Counts connections, and bounds them; default: the bounds of limits.ts, for this listener alone. */
  readonly openings?: Openings;
  /** Told of handshakes that failed, where the front can see them (node). */
  readonly onHandshakeError?: () => void;
  /** Time for a handshake and for a request head, milliseconds; default limits.headMsMax (the uWS build has its own). */
  readonly headMsMax?: number;
  /** Time a peer may take nothing of a whole answer, milliseconds; default limits.stallMsMax (the uWS build has its own). */
  readonly stallMsMax?: number;
}

/** An open listener. */
export interface Listener {
  /** The port it listens on. */
  readonly port: number;
  /** Connections with an answer under way, streamed ones included. */
  readonly pending: number;
  /** Streamed answers under way. */
  readonly streaming: number;
  /**
   * Reads the certificate files again, for handshakes from now on; returns an error message when it continues with the
   * old ones. Where the front verified clients under authorities that are no longer the same, their connections end.
   */
  reload(): string | undefined;
  /** Takes no further connections; every answer from now on closes its connection. */
  stopAccepting(): void;
  /** Cuts every connection, now and from now on. */
  cut(): void;
  /** stopAccepting() and cut(). */
  close(): void;
}

/** An exchange that can be ended without an answer. */
interface Cuttable extends Exchange {
  cut(): void;
}

/** Hands on a request from inside a parser. A bug cuts the connection and ends the thread, once the parser is left. */
export function handOn(handle: Handler, exchange: Cuttable): void {
  try {
    handle(exchange);
  } catch (error) {
    exchange.cut();
    setImmediate(() => {
      throw error;
    });
  }
}
