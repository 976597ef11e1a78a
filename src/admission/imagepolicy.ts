// ImagePolicyWebhook: a webhook decides whether a pod's images may run. Off unless enabled. Debugging containers
// are asked about, too, whichever way they come (CVE-2023-2727).
import type { Pod } from "../api/gen/core/v1.ts";
import { quote } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import { isStatus, Status, timedOut } from "../api/status.ts";
import { textAt, type Value } from "../api/value.ts";
import { ownerOf } from "../authz/owner.ts";
import { assert } from "../base/assert.ts";
import { Fault, parseJson, writeValue } from "../codec/engine/json.ts";
import { checkedBefore, type FileCheck } from "../config/filecheck.ts";
import type { ImagePolicySettings } from "../config/files/plugins.ts";
import { limits } from "../config/limits.ts";
import { clientCalls } from "../observe/clientcalls.ts";
import { CallFailure, type Connection, isWell, OutboundClient } from "../outbound/client.ts";
import { readConnection } from "../outbound/connection.ts";
import { post } from "../outbound/post.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid } from "./plugin.ts";

/** The webhook and how it is called. */
interface ImageWebhook {
  readonly settings: Settings;
  readonly connection: Connection;
}

/** How the plugin is configured. */
interface Settings {
  readonly kubeConfigFile: string;
  /** How long an answer counts, in milliseconds. */
  readonly allowMs: number;
  readonly denyMs: number;
  readonly retryMs: number;
  /** What holds while the webhook does not answer. */
  readonly defaultAllow: boolean;
}

/** Milliseconds, as of upstream; zero is the default, and below it nothing is kept. */
function timeOf(value: number, unitMs: number, defaultMs: number): number {
  return value === 0 ? defaultMs : Math.max(0, value * unitMs);
}

/** Reads the plugin's configuration, JSON text that main checked; a text says why there must be one. */
export function readImagePolicy(text: string | undefined): Settings | string {
  if (text === undefined) return "it needs a configuration: imagePolicy with kubeConfigFile";
  const { imagePolicy } = JSON.parse(text) as ImagePolicySettings;
  const { kubeConfigFile, allowTTL = 0, denyTTL = 0, retryBackoff = 0, defaultAllow = false } = imagePolicy;
  return {
    kubeConfigFile,
    allowMs: timeOf(allowTTL, 1000, 300_000),
    denyMs: timeOf(denyTTL, 1000, 30_000),
    retryMs: timeOf(retryBackoff, 1, 500),
    defaultAllow,
  };
}

/** Reads the configuration and where it leads; a text says what is wrong. */
export function readImageWebhook(text: string | undefined, check: FileCheck): ImageWebhook | string {
  const settings = readImagePolicy(text);
  if (typeof settings === "string") return settings;
  const connection = readConnection(settings.kubeConfigFile, check);
  return typeof connection === "string" ? `imagePolicy.kubeConfigFile: ${connection}` : { settings, connection };
}

/** Builds the plugin. */
export function imagePolicy(environment: Environment): AdmissionPlugin {
  const webhook = readImageWebhook(environment.settings, checkedBefore);
  assert(typeof webhook !== "string", `Main checked the settings: ${webhook}`);
  const policy = new ImagePolicy(environment, webhook.settings, new OutboundClient(webhook.connection, clientCalls));
  return {
    validate: ({ operation, resource, subresource, ...rest }) => {
      const isPod = resource.group === "" && resource.resource === "pods";
      if (!isPod || (subresource !== "" && subresource !== "ephemeralcontainers")) return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      return policy.judge({ operation, resource, subresource, ...rest });
    },
    close: () => policy.close(),
  };
}

/** 429 for a pod whose images cannot be asked about, because too many calls wait. */
const tooManyCalls = new Status(
  429,
  "TooManyRequests",
  "The server has too many calls of the image policy webhook waiting, please try again later.",
  { retryAfterSeconds: 1 },
);

interface Answer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly annotations: ReadonlyMap<string, string>;
}

class ImagePolicy {
  readonly #environment: Environment;
  readonly #settings: Settings;
  readonly #client: OutboundClient;
  /** Answers by what was asked, until when they count; monotonic ms. */
  readonly #known = new Map<string, { readonly answer: Answer; readonly until: number }>();

  constructor(environment: Environment, settings: Settings, client: OutboundClient) {
    this.#environment = environment;
    this.#settings = settings;
    this.#client = client;
  }

  close(): void {
    this.#client.close();
  }

  async judge(attributes: Attributes): Promise<Status | undefined> {
    const spec = this.#specOf(attributes);
    const key = writeValue(spec);
    const now = this.#environment.clock.monotonic();
    const known = this.#known.get(key);
    const isFresh = known !== undefined && known.until > now;
    const answer = isFresh ? known.answer : await this.#ask(key, attributes);
    const prefix = this.#environment.identity.spell("imagepolicywebhook.image-policy.k8s.io/");
    if (isStatus(answer)) return answer;
    if (typeof answer === "string") {
      if (!this.#settings.defaultAllow) return forbid(attributes, answer);
      attributes.notes.annotations.set(`${prefix}failed-open`, "true");
      return undefined;
    }
    if (!isFresh) this.#remember(key, answer);
    for (const [name, value] of answer.annotations) attributes.notes.annotations.set(`${prefix}${name}`, value);
    if (answer.allowed) return undefined;
    const denied = "image policy webhook backend denied one or more images";
    return forbid(attributes, answer.reason === "" ? denied : `${denied}: ${answer.reason}`);
  }

  #specOf({ object, namespace }: Attributes): Value {
    const { metadata, spec } = object as ApiObject & Pod;
    const marker = this.#environment.identity.spell(".image-policy.k8s.io/");
    const containers = [
      ...(spec.initContainers ?? []),
      ...(spec.containers ?? []),
      ...(spec.ephemeralContainers ?? []),
    ].map(({ image = "" }): Value => new Map([["image", image]]));
    const annotations = [...(metadata.annotations ?? [])].filter(([key]) => key.includes(marker));
    return new Map<string, Value>([
      ["containers", containers],
      ...(annotations.length === 0 ? [] : ([["annotations", new Map<string, Value>(annotations)]] as const)),
      ["namespace", namespace],
    ]);
  }

  /**
   * Asks, several times where there is no answer; a text says why there is no answer. A Status: it is no fault of the
   * webhook's that there is none, and the write is refused.
   */
  async #ask(spec: string, { deadline, user }: Attributes): Promise<Answer | string | Status> {
    const { identity, clock } = this.#environment;
    const apiVersion = `${identity.spell("imagepolicy.k8s.io")}/v1alpha1`;
    const review = `{"kind":"ImageReview","apiVersion":"${apiVersion}","spec":${spec}}`;
    const leftMs = (): number => deadline - clock.monotonic();
    const answer = await post(this.#client, review, {
      pauseMs: this.#settings.retryMs,
      callMs: () => limits.webhookMsMax,
      leftMs,
      owner: ownerOf(identity, user),
    });
    if (answer instanceof CallFailure && answer.failure === "busy") return tooManyCalls;
    if (answer instanceof CallFailure && answer.failure === "late") return timedOut;
    const isAnswer = !(answer instanceof CallFailure);
    if (isAnswer && isWell(answer)) return readAnswer(answer.body, apiVersion);
    const why = isAnswer ? `the server answered ${answer.code}` : answer.message;
    return `the image policy webhook gave no answer: ${why}`;
  }

  #remember(key: string, answer: Answer): void {
    const ms = answer.allowed ? this.#settings.allowMs : this.#settings.denyMs;
    // What a client can make long is not kept.
    if (ms === 0 || key.length > limits.webhookKeptCharsMax) return;
    this.#known.delete(key);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= limits.imageAnswersMax && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, { answer, until: this.#environment.clock.monotonic() + ms });
  }
}

function readAnswer(body: Uint8Array, apiVersion: string): Answer | string {
  const review = parseJson(body);
  if (review instanceof Fault || !(review instanceof Map)) return "the image policy webhook answered no ImageReview";
  const status = review.get("status");
  if (review.get("kind") !== "ImageReview" || review.get("apiVersion") !== apiVersion || !(status instanceof Map)) {
    return `the image policy webhook answered no ImageReview of ${quote(apiVersion)}`;
  }
  const annotations = status.get("auditAnnotations");
  return {
    allowed: status.get("allowed") === true,
    reason: textAt(status, "reason"),
    annotations: new Map(
      (annotations instanceof Map ? [...annotations] : []).filter(
        (pair): pair is [string, string] => typeof pair[1] === "string",
      ),
    ),
  };
}
