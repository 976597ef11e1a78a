// What tests ask etcd itself: its JSON gateway (`/v3/...`), so that the harness needs no client library and shares none
// with the engine under test. Keys and values travel as base64, 64-bit numbers as texts.
import { createWriteStream } from "node:fs";
import { type ClientRequest, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";

/** Files of a TLS client of etcd, and what they hold. */
export interface EtcdTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A request that etcd refused. */
export class EtcdFault extends Error {
  override name = "EtcdFault";
  /** Of gRPC. */
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** How long etcd may take to answer. */
const answerMsMax = 10_000;
/** Codes of gRPC. */
const unauthenticated = 16;
const denied = 7;

/** A stream of answers that was opened; `end` closes it. */
export interface Following {
  readonly ended: Promise<void>;
  end(): void;
}

/** The gateway of one member. */
export class Gateway {
  readonly url: string;
  readonly #tls: EtcdTls | undefined;
  /** Of the user `root`, where etcd asks for users. */
  password = "";
  #token = "";

  constructor(url: string, tls: EtcdTls | undefined) {
    this.url = url;
    this.#tls = tls;
  }

  /** One call. Rejects with EtcdFault when etcd refuses, with another error when it does not answer. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  async call(path: string, body: object = {}, limitMs = answerMsMax): Promise<any> {
    try {
      return await this.#call(path, body, limitMs);
    } catch (error) {
      // A certificate without a user is one that may nothing; a token that expired is not valid.
      const isAnonymous = error instanceof EtcdFault && [unauthenticated, denied].includes(error.code);
      if (!isAnonymous || this.password === "") throw error;
      const { token } = await this.#call("/v3/auth/authenticate", { name: "root", password: this.password }, limitMs);
      this.#token = token;
      return this.#call(path, body, limitMs);
    }
  }

  /** Whether the member says that it has a leader and can write. */
  async isHealthy(limitMs = 1000): Promise<boolean> {
    try {
      return (await this.#call("/health", undefined, limitMs)).health === "true";
    } catch {
      return false;
    }
  }

  /** Writes a snapshot of the member's data to a file, with its checksum. */
  async save(path: string): Promise<void> {
    const file = createWriteStream(path);
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const following = this.follow("/v3/maintenance/snapshot", {}, ({ blob }: any) => {
      if (blob !== undefined) file.write(Buffer.from(blob, "base64"));
    });
    await following.ended;
    await new Promise<void>((resolve, reject) => {
      file.on("error", reject);
      file.end(resolve);
    });
  }

  /** Opens a stream; `take` gets each answer. `ended` rejects when etcd ends it with an error or the connection breaks. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  follow(path: string, body: object, take: (answer: any) => void): Following {
    let isOver = false;
    let sent: ClientRequest | undefined;
    const ended = new Promise<void>((resolve, reject) => {
      sent = this.#send(path, body, (response) => {
        let rest = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) {
            if (isOver || line === "") continue;
            const { result, error } = JSON.parse(line);
            if (error !== undefined) reject(faultOf(error));
            else take(result);
          }
        });
        response.on("end", resolve);
        response.on("error", (error) => (isOver ? resolve() : reject(error)));
      });
      sent.on("error", (error) => (isOver ? resolve() : reject(error)));
    });
    const end = (): void => {
      isOver = true;
      sent?.destroy();
    };
    return { ended, end };
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  #call(path: string, body: object | undefined, limitMs: number): Promise<any> {
    return new Promise((resolve, reject) => {
      const sent = this.#send(path, body, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const answer = parse(text);
          if (answer === undefined) reject(new Error(`${this.url}${path} answered ${response.statusCode}: ${text}`));
          else if (response.statusCode === 200) resolve(answer);
          else reject(faultOf(answer));
        });
      });
      const timer = setTimeout(
        () => sent.destroy(new Error(`${this.url}${path} took more than ${limitMs} ms`)),
        limitMs,
      );
      sent.on("close", () => clearTimeout(timer));
      sent.on("error", reject);
    });
  }

  #send(path: string, body: object | undefined, take: Parameters<typeof plainRequest>[2]): ClientRequest {
    const secure = this.#tls === undefined ? {} : { ca: this.#tls.ca, cert: this.#tls.cert, key: this.#tls.key };
    const headers = this.#token === "" ? {} : { authorization: this.#token };
    const options = { method: body === undefined ? "GET" : "POST", agent: false as const, headers, ...secure };
    const request = this.#tls === undefined ? plainRequest : secureRequest;
    const sent = request(this.url + path, options, take);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    return sent;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function faultOf(answer: { code?: number; grpc_code?: number; message?: string }): EtcdFault {
  return new EtcdFault(answer.code ?? answer.grpc_code ?? 0, answer.message ?? JSON.stringify(answer));
}

/** A key or value as the gateway takes it. */
export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** All keys that begin with a prefix, which must not be empty. */
export function rangeOf(prefix: string): { readonly key: string; readonly range_end: string } {
  const bytes = Buffer.from(prefix);
  const end = Buffer.from(bytes);
  end[end.length - 1] = (end[end.length - 1] ?? 0) + 1;
  return { key: bytes.toString("base64"), range_end: end.toString("base64") };
}
