// Encryption at rest for tests: transformers of a document, and a KMS plugin of either version on a socket.
import { rmSync } from "node:fs";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import type { EncryptionDocument } from "../../../src/config/files/encryption.ts";
import { Registry } from "../../../src/observe/metrics.ts";
import { type EncryptionConfig, readEncryption } from "../../../src/storage/encryption/configuration.ts";
import { ReadMessage, writeMessage } from "../../../src/storage/encryption/kmscodec.ts";
import { EncryptionMeter } from "../../../src/storage/encryption/meter.ts";
import { Transformers, type TransformersOptions } from "../../../src/storage/encryption/transformers.ts";

type Rule = EncryptionDocument["resources"][number];

/** One item of `providers`. */
export type ProviderItem = Rule["providers"][number];

/** Resources, and their providers. */
export type RuleOf = readonly [resources: readonly string[], ...providers: ProviderItem[]];

/** A document with these rules. */
export function documentOf(...rules: readonly RuleOf[]): EncryptionDocument {
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: rules.map(([names, ...providers]) => ({ resources: [...names], providers })),
  };
}

/** What a document with these rules asks for; throws what is wrong with it. */
export function configOf(...rules: readonly RuleOf[]): EncryptionConfig {
  const config = readEncryption(documentOf(...rules), false);
  if (typeof config === "string") throw new Error(config);
  return config;
}

/** A key of `bytes` equal bytes for a provider with keys. */
export function keyOf(name: string, byte: number, bytes = 32): { name: string; secret: string } {
  return { name, secret: Buffer.alloc(bytes, byte).toString("base64") };
}

/** `secrets` of `/registry/secrets`, `deployments.apps` of `/registry/apps/deployments`. */
export function resourceAt(prefix: string): string | undefined {
  const [, , ...parts] = prefix.split("/");
  return parts.length === 0 ? undefined : parts.reverse().join(".");
}

/** Transformers of a configuration. */
export function transformersOf(
  config: EncryptionConfig | undefined,
  more: Partial<TransformersOptions> = {},
): Promise<Transformers> {
  return Transformers.open({ config, resourceAt, meter: new EncryptionMeter(new Registry()), ...more });
}

type Method = (request: ReadMessage) => Buffer;

/** A KMS plugin that keeps nothing secret: what it encrypts is the same bytes with each changed by its key. */
export class KmsPlugin {
  readonly path: string;
  /** Methods that were called, in order. */
  readonly calls: string[] = [];
  /** The key it encrypts with; what it encrypted with former ones it still decrypts while they are here. */
  keyIds = ["key-1"];
  health = "ok";
  version: string;
  /** Set: every call fails with it. */
  fault: string | undefined;
  /** Set: calls are not answered. */
  hangs = false;
  /** Called after each call. */
  betweenCalls: (() => void) | undefined;
  #server: Server | undefined;

  constructor(path: string, version: "v1beta1" | "v2") {
    this.path = path;
    this.version = version;
  }

  async start(): Promise<void> {
    const server = new Server();
    const methods: { readonly [name: string]: Method } = this.version === "v2" ? this.#v2() : this.#v1();
    const service = this.version === "v2" ? "v2" : "v1beta1";
    const same = (bytes: Buffer): Buffer => bytes;
    const definitions = Object.keys(methods).map((name) => {
      const path = `/${service}.KeyManagementService/${name}`;
      const shape = { path, requestStream: false, responseStream: false };
      const codec = {
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      };
      return [name, { ...shape, ...codec }] as const;
    });
    const handlers = Object.entries(methods).map(([name, method]) => [
      name,
      (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) =>
        this.#handle(name, method, call, answer),
    ]);
    server.addService(Object.fromEntries(definitions), Object.fromEntries(handlers));
    rmSync(this.path, { force: true });
    await new Promise<void>((resolve, reject) => {
      const bound = (error: Error | null): void => (error === null ? resolve() : reject(error));
      server.bindAsync(`unix:${this.path}`, ServerCredentials.createInsecure(), bound);
    });
    this.#server = server;
  }

  /** Cuts every connection. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  #handle(name: string, method: Method, call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>): void {
    this.calls.push(name);
    if (this.hangs) return;
    try {
      if (this.fault !== undefined) throw new Error(this.fault);
      answer(null, method(new ReadMessage(call.request)));
      this.betweenCalls?.();
    } catch (error) {
      answer({ code: status.UNKNOWN, details: (error as Error).message });
    }
  }

  #v1(): { readonly [name: string]: Method } {
    const [keyId] = this.keyIds;
    return {
      Version: () => writeMessage([[1, this.version]]),
      Encrypt: (request) => writeMessage([[1, mixed(request.bytes(2), keyId ?? "")]]),
      Decrypt: (request) => writeMessage([[1, mixed(request.bytes(2), keyId ?? "")]]),
    };
  }

  #v2(): { readonly [name: string]: Method } {
    return {
      Status: () =>
        writeMessage([
          [1, this.version],
          [2, this.health],
          [3, this.keyIds[0] ?? ""],
        ]),
      Encrypt: (request) =>
        writeMessage([
          [1, mixed(request.bytes(1), this.keyIds[0] ?? "")],
          [2, this.keyIds[0] ?? ""],
          [3, new Map([["version.example.com", Buffer.from("7")]])],
        ]),
      Decrypt: (request) => {
        if (!this.keyIds.includes(request.text(3))) throw new Error("no such key");
        if (request.map(4).get("version.example.com")?.toString() !== "7") throw new Error("no annotation");
        return writeMessage([[1, mixed(request.bytes(1), request.text(3))]]);
      },
    };
  }
}

/** Each byte changed, by the key; twice is the bytes themselves. */
export function mixed(bytes: Uint8Array, keyId: string): Buffer {
  const mask = Buffer.from(keyId).reduce((sum, byte) => (sum + byte) & 0xff, 0x5a);
  return Buffer.from(bytes.map((byte) => byte ^ mask));
}
