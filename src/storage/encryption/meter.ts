// Figures of encryption at rest, by upstream's names.
import type { Family, Registry } from "../../observe/metrics.ts";

/** Upper bounds in seconds: from 5 us, each twice the one before (upstream). */
const secondBuckets = Array.from({ length: 14 }, (_, at) => 5e-6 * 2 ** at);
const callBuckets = Array.from({ length: 14 }, (_, at) => 1e-4 * 2 ** at);

/** What became of a value that no code of gRPC tells of (upstream). */
const otherFailure = "unknown-non-grpc";

/** Counts what is encrypted and decrypted. */
export class EncryptionMeter {
  readonly #operations: Family;
  readonly #seconds: Family;
  readonly #misses: Family;
  readonly #keySeconds: Family;
  readonly #keyFailures: Family;
  readonly #calls: Family;

  constructor(registry: Registry) {
    this.#operations = registry.counter(
      "apiserver_storage_transformation_operations_total",
      "Values encrypted and decrypted, by provider and result.",
      "transformation_type",
      "transformer_prefix",
      "status",
    );
    this.#seconds = registry.histogram(
      "apiserver_storage_transformation_duration_seconds",
      "Seconds to encrypt or decrypt a value.",
      secondBuckets,
      "transformation_type",
    );
    const missHelp = "Data keys that had to be decrypted by a KMS plugin.";
    this.#misses = registry.counter("apiserver_storage_envelope_transformation_cache_misses_total", missHelp);
    this.#keySeconds = registry.histogram(
      "apiserver_storage_data_key_generation_duration_seconds",
      "Seconds to make a data key, its encryption by the KMS plugin included.",
      secondBuckets,
    );
    const failedHelp = "Data keys that could not be made.";
    this.#keyFailures = registry.counter("apiserver_storage_data_key_generation_failures_total", failedHelp);
    this.#calls = registry.histogram(
      "apiserver_envelope_encryption_kms_operations_latency_seconds",
      "Seconds of a call of a KMS plugin, by plugin, method and gRPC status.",
      callBuckets,
      "provider_name",
      "method_name",
      "grpc_status_code",
    );
  }

  /** A value was encrypted or decrypted. `failure`: undefined, a gRPC code, or "" where none tells. */
  transformed(type: "to_storage" | "from_storage", label: string, failure: string | undefined, ms: number): void {
    const status = failure === undefined ? "OK" : failure === "" ? otherFailure : failure;
    this.#operations.add(`${type}\0${label}\0${status}`);
    this.#seconds.observe(type, ms / 1000);
  }

  /** A data key was not among those kept. */
  missed(): void {
    this.#misses.add("");
  }

  /** A data key was made, or was not. */
  madeKey(ms: number, failed: boolean): void {
    if (failed) this.#keyFailures.add("");
    else this.#keySeconds.observe("", ms / 1000);
  }

  /** A plugin was called. */
  called(provider: string, method: string, code: string, ms: number): void {
    this.#calls.observe(`${provider}\0${method}\0${code}`, ms / 1000);
  }
}
