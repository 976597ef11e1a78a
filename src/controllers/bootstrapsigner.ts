// Signs what nodes that join learn of the cluster: the kubeconfig in the config map `cluster-info` of the public
// namespace, once for each bootstrap token that signs, so that a node that knows a token knows that what it read without
// credentials is the cluster's (upstream: bootstrapsigner of its controllers, off by default).
import { CompactSign } from "jose/jws/compact/sign";
import type { ConfigMap, Secret } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, refuse, type Status } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { failpoint } from "../base/failpoint.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices, Written } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";
import { tokenEndMs } from "./tokencleaner.ts";

const configMapName = "cluster-info";
const kubeconfigKey = "kubeconfig";
const signaturePrefix = "jws-kubeconfig-";
const tokenName = /^bootstrap-token-([a-z0-9]{6})$/;

/** The kubeconfig was changed while it was signed. */
const outdated = refuse("Conflict", "the kubeconfig changed while it was signed");

/** Signatures by token, and when the first of those tokens ends. */
interface Signatures {
  readonly byId: ReadonlyMap<string, string>;
  readonly endMs: number;
}

/** Works on one key. Follows the logs of config maps and secrets. */
export class BootstrapSigner implements Controller {
  readonly follows: Follows;
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #secrets: Resource;
  readonly #secretLog: LogView;
  readonly #configMaps: Resource;
  readonly #configMapLog: LogView;
  readonly #isToken: Match;
  readonly #system: string;
  readonly #public: string;
  readonly #kubeconfig: string;
  /** The config map was looked for: one that is deleted later stays deleted. */
  #isMade = false;

  /** `kubeconfig`: what the config map says where there is none at the start. */
  constructor(writers: WriteServices, kubeconfig: string) {
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager", "system:serviceaccount:kube-system:bootstrap-signer");
    const secrets = storedKind(writers, "", "v1", "secrets");
    this.#secrets = secrets.resource;
    this.#secretLog = secrets.view;
    const configMaps = storedKind(writers, "", "v1", "configmaps");
    this.#configMaps = configMaps.resource;
    this.#configMapLog = configMaps.view;
    this.#kubeconfig = kubeconfig;
    const { spell } = writers.scheme.identity;
    this.#system = spell("kube-system");
    this.#public = spell("kube-public");
    const value = spell("bootstrap.kubernetes.io/token");
    const match = compileSelector({ labels: [], fields: [{ field: "type", operator: "=", value }] });
    assert(match !== undefined, "A selector of one field is no selector for everything");
    this.#isToken = match;
    const key = `${this.#public}/${configMapName}`;
    const inSystem = `${this.#system}/`;
    this.follows = [
      [
        configMaps.view,
        (queue, at) => {
          if (configMaps.view.keyOf(at) === key) queue.add(configMapName);
        },
      ],
      [
        secrets.view,
        (queue, at) => {
          // A secret's type cannot change.
          if (this.#isToken(secrets.view, at) && secrets.view.keyOf(at).startsWith(inSystem)) queue.add(configMapName);
        },
      ],
    ];
  }

  all(queue: Queue): void {
    queue.add(configMapName);
  }

  /** Signs the kubeconfig with every token that signs, and drops all other signatures. */
  async work(_key: string, queue: Queue): Promise<Result> {
    const unmade = await this.#make();
    if (unmade !== undefined) return { cause: unmade, message: `${configMapName} cannot be created` };
    this.#configMapLog.drain();
    const at = this.#configMapLog.get(this.#public, configMapName);
    if (at === 0) return undefined;
    const { data } = decodeStored(this.#configMaps, this.#configMapLog.object(at)) as ApiObject & ConfigMap;
    const kubeconfig = data?.get(kubeconfigKey);
    // Upstream leaves old signatures alone as well: they sign nothing.
    if (kubeconfig === undefined) return undefined;
    const { byId, endMs } = await this.#signatures(kubeconfig, queue);
    if (queue.signal.aborted) return undefined;
    if (!isSigned(data, byId)) {
      failpoint("bootstrap-before-signatures");
      const done = await this.#write(kubeconfig, byId);
      failpoint("bootstrap-after-signatures");
      if (isStatus(done) && done.reason !== "NotFound")
        return { cause: done, message: `The signatures of ${configMapName} cannot be written` };
    }
    if (endMs === Number.POSITIVE_INFINITY) return undefined;
    // The wall clock may be put right meanwhile.
    return { againMs: Math.min(Math.max(1, endMs - this.#writers.clock.now()), limits.timerMsMax) };
  }

  /** Makes the config map where there is none, as installers do; once. */
  async #make(): Promise<Status | undefined> {
    if (this.#isMade) return undefined;
    this.#configMapLog.drain();
    if (this.#configMapLog.get(this.#public, configMapName) === 0) {
      const target = { resource: this.#configMaps, namespace: this.#public };
      const content = new Map([
        ["metadata", new Map([["name", configMapName]])],
        ["data", new Map([[kubeconfigKey, this.#kubeconfig]])],
      ]);
      const done = await this.#actor.create(target, content);
      if (isStatus(done) && done.reason !== "AlreadyExists") return done;
    }
    this.#isMade = true;
    return undefined;
  }

  /** What every token that signs now makes of a kubeconfig. */
  async #signatures(kubeconfig: string, queue: Queue): Promise<Signatures> {
    const tokens: (ApiObject & Secret)[] = [];
    this.#secretLog.drain();
    const take = (at: number): void => {
      if (this.#isToken(this.#secretLog, at))
        tokens.push(decodeStored(this.#secrets, this.#secretLog.object(at)) as ApiObject & Secret);
    };
    await queue.scan(this.#secretLog, take, { namespace: this.#system });
    const content = Buffer.from(kubeconfig);
    const byId = new Map<string, string>();
    const nowMs = this.#writers.clock.now();
    let firstMs = Number.POSITIVE_INFINITY;
    for (const token of tokens) {
      const found = signingToken(token);
      const endMs = tokenEndMs(token);
      if (found === undefined || endMs <= nowMs) continue;
      firstMs = Math.min(firstMs, endMs);
      byId.set(found.id, await detachedSignature(content, found.id, found.secret));
      await queue.giveWay();
    }
    return { byId, endMs: firstMs };
  }

  #write(kubeconfig: string, byId: ReadonlyMap<string, string>): Promise<Written | Status> {
    const target = { resource: this.#configMaps, namespace: this.#public, name: configMapName };
    return this.#actor.update<ApiObject & ConfigMap>(target, (found) => {
      if (found.data?.get(kubeconfigKey) !== kubeconfig) return outdated;
      for (const name of [...found.data.keys()]) if (name.startsWith(signaturePrefix)) found.data.delete(name);
      for (const [id, signature] of byId) found.data.set(signaturePrefix + id, signature);
      return undefined;
    });
  }
}

/**
 * What a config map tells nodes that join: where the cluster is (`host:port`) and what it is verified by (PEM), and no
 * credentials. As upstream's installer writes it.
 */
export function clusterKubeconfig(address: string, authority: string): string {
  return [
    "apiVersion: v1",
    "clusters:",
    "- cluster:",
    `    certificate-authority-data: ${Buffer.from(authority).toString("base64")}`,
    `    server: https://${address}`,
    '  name: ""',
    "contexts: null",
    'current-context: ""',
    "kind: Config",
    "preferences: {}",
    "users: null",
    "",
  ].join("\n");
}

/**
 * A JWS with HS256 whose payload is left out between the dots (RFC 7515, appendix F). The key is the secret part of the
 * token, as clients verify it; the document says the whole token. Clients compare texts: the order of the header counts.
 */
async function detachedSignature(content: Uint8Array, id: string, secret: Uint8Array): Promise<string> {
  const whole = await new CompactSign(content).setProtectedHeader({ alg: "HS256", kid: id }).sign(secret);
  const [header = "", , signature = ""] = whole.split(".");
  return `${header}..${signature}`;
}

/** The parts of a token that signs; undefined for any other secret. */
function signingToken({ metadata, data }: ApiObject & Secret): { id: string; secret: Uint8Array } | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const bytes = (key: string): Buffer => Buffer.from(data?.get(key) ?? "", "base64");
  const id = tokenName.exec(metadata.name ?? "")?.[1];
  const secret = bytes("token-secret");
  if (id === undefined || bytes("token-id").toString() !== id || secret.length === 0) return undefined;
  return bytes("usage-bootstrap-signing").toString() === "true" ? { id, secret } : undefined;
}

/** Whether a config map has these signatures and no others. */
function isSigned(data: ReadonlyMap<string, string> | undefined, byId: ReadonlyMap<string, string>): boolean {
  let count = 0;
  for (const [name, value] of data ?? []) {
    if (!name.startsWith(signaturePrefix)) continue;
    if (byId.get(name.slice(signaturePrefix.length)) !== value) return false;
    count += 1;
  }
  return count === byId.size;
}
