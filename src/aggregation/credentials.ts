// The certificate this server presents to extension servers (`--proxy-client-cert-file`): by it they know that the
// user in the headers of a request was authenticated by this server.
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Login } from "../outbound/connection.ts";

/** Reads the files again when it is told to; a pair that does not fit is not taken. */
export class ProxyCredentials {
  readonly #certFile: string;
  readonly #keyFile: string;
  #login: Login | undefined;

  /** Empty names: there is no certificate. Throws where the files cannot be read, or do not belong together. */
  constructor(certFile: string, keyFile: string) {
    this.#certFile = certFile;
    this.#keyFile = keyFile;
    const fault = this.reload();
    if (fault !== undefined) throw new Error(fault);
  }

  /** What is presented now; undefined: nothing. Another object whenever it changed. */
  get login(): Login | undefined {
    return this.#login;
  }

  /** Takes in the files as they are now. Returns an error message of one line when the former ones stay. */
  reload(): string | undefined {
    if (this.#certFile === "") return undefined;
    try {
      const certificate = readFileSync(this.#certFile, "utf8");
      const key = readFileSync(this.#keyFile, "utf8");
      createSecureContext({ cert: certificate, key });
      if (certificate === this.#login?.certificate && key === this.#login.key) return undefined;
      this.#login = { certificate, key };
      return undefined;
    } catch (error) {
      const why = (error as Error).message;
      return `--proxy-client-cert-file ${this.#certFile} and --proxy-client-key-file ${this.#keyFile}: ${why}`;
    }
  }
}
