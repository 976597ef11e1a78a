// Requests the server sends to webhooks of every kind, by the names and buckets of upstream's client. Only what upstream
// sends with that client is counted: not what is passed on to extension servers or asked of them, nor of identity
// providers, nor of etcd. A URL is counted without its path, which may hold a secret.
import { Family, type Registry } from "./metrics.ts";

/** Upper bounds in seconds, upstream's. */
const secondBuckets = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512];

/** Peers that are told apart; what is sent to others counts as "other". Webhooks come and go with their configuration. */
const peersMax = 300;

/** Upstream's code of a request without an answer. */
const noAnswer = "<error>";

/** Counts the requests of one thread. */
export class ClientCalls {
  readonly #total = new Family(
    "counter",
    "rest_client_requests_total",
    "Requests sent to webhooks, by host, method and the code of the answer.",
    ["code", "host", "method"],
  );
  readonly #seconds = new Family(
    "histogram",
    "rest_client_request_duration_seconds",
    "Seconds until a webhook had answered, by its URL without the path.",
    ["url", "verb"],
    secondBuckets,
  );
  readonly #peers = new Set<string>();

  /** A request is over. `code`: of the answer; undefined: there was none. */
  ended(method: string, url: string, code: number | undefined, seconds: number): void {
    let origin = originOf(url);
    if (!this.#peers.has(origin) && this.#peers.size >= peersMax) origin = "other";
    else this.#peers.add(origin);
    this.#total.add(`${code ?? noAnswer}\0${origin.replace(/^https?:\/\//, "")}\0${method}`);
    this.#seconds.observe(`${origin}\0${method}`, seconds);
  }

  /** Shows them among the metrics of the thread. */
  register(registry: Registry): void {
    for (const family of [this.#total, this.#seconds]) registry.keep(family);
  }
}

/** Scheme, host and port as they are written: a port that goes without saying stays. */
function originOf(url: string): string {
  const at = url.indexOf("://") + 3;
  const rest = url.slice(at);
  const end = rest.search(/[/?#]/);
  return end < 0 ? url : url.slice(0, at + end);
}

/** Those of the calling thread. */
export const clientCalls = new ClientCalls();
