// Calls of a KMS plugin: gRPC over a socket of this machine. A call has a time limit, few are under way at once, and after
// one that failed for want of a plugin the next ones fail at once, until a probe finds it again: changes of other
// resources share a transaction with those that need it.
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { askUnary } from "../../base/grpc.ts";
import { limits } from "../../config/limits.ts";
import type { KmsProvider } from "./configuration.ts";
import { KmsFailure } from "./kmsfailure.ts";
import type { EncryptionMeter } from "./meter.ts";

/** gRPC's codes as upstream's metrics spell them: `DeadlineExceeded`. */
const codeNames = new Map(
  Object.entries(status)
    .filter((entry): entry is [string, status] => typeof entry[1] === "number")
    .map(([name, code]) => [code, spelled(name)]),
);

function spelled(name: string): string {
  return name === "OK"
    ? name
    : name.replaceAll(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => `${first}${rest.toLowerCase()}`);
}

/** Codes that say that the plugin did not answer. */
const awayCodes = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED]);

/** The client of one plugin. */
export class KmsClient {
  readonly #client: Client;
  readonly #service: string;
  readonly #provider: KmsProvider;
  readonly #meter: EncryptionMeter;
  readonly #waiting: (() => void)[] = [];
  #calls = 0;
  #away: KmsFailure | undefined;

  /** `service`: `/v2.KeyManagementService`. */
  constructor(provider: KmsProvider, service: string, meter: EncryptionMeter) {
    this.#provider = provider;
    this.#service = service;
    this.#meter = meter;
    this.#client = new Client(`unix:${provider.path}`, credentials.createInsecure(), {
      "grpc.initial_reconnect_backoff_ms": limits.kmsReconnectMsMin,
      "grpc.min_reconnect_backoff_ms": limits.kmsReconnectMsMin,
      "grpc.max_reconnect_backoff_ms": limits.kmsReconnectMsMax,
    });
  }

  /** The failure of the last call, when the plugin did not answer it. */
  get away(): KmsFailure | undefined {
    return this.#away;
  }

  /**
   * Asks the plugin; the answer's bytes. Rejects with KmsFailure. `probes`: it is asked although it did not answer the
   * last time.
   */
  async call(method: string, request: Buffer, probes = false): Promise<Buffer> {
    if (!probes && this.#away !== undefined) throw this.#away;
    if (this.#calls >= limits.kmsCallsMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#calls += 1;
    const startMs = performance.now();
    let code: string = "OK";
    try {
      const answer = await askUnary(this.#client, `${this.#service}/${method}`, request, this.#provider.timeoutMs);
      this.#away = undefined;
      return answer;
    } catch (error) {
      const failure = this.#failureOf(method, error as ServiceError);
      code = failure.code;
      throw failure;
    } finally {
      this.#meter.called(this.#provider.name, `${this.#service}/${method}`, code, performance.now() - startMs);
      this.#calls -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** What a plugin says of a failure is for the log; it never repeats what it was sent. */
  #failureOf(method: string, { code, details }: ServiceError): KmsFailure {
    const name = codeNames.get(code) ?? "Unknown";
    const said = details.slice(0, limits.kmsFailureCharsMax).replaceAll(/\s/g, " ");
    const failure = new KmsFailure(
      `KMS plugin ${JSON.stringify(this.#provider.name)}: ${method}: ${name}: ${said}`,
      name,
    );
    if (awayCodes.has(code)) this.#away = failure;
    return failure;
  }

  close(): void {
    this.#client.close();
  }
}
