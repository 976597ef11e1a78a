// ServiceAccount: every pod runs as an account of its namespace and, unless account or pod say no, finds that account's
// token mounted in each container. An account may restrict its pods to the secrets it lists; that holds for every way
// a container can name a secret, ephemeral containers and whole environments included (CVE-2023-2728, CVE-2024-3177).
import type { Container, EphemeralContainer, Pod, PodSpec, ServiceAccount, Volume } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Status } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import type { Awaitable } from "../base/awaitable.ts";
import { suffixOf } from "../base/suffix.ts";
import type { ObjectTable } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { limits } from "../config/limits.ts";
import { secretNames } from "../kinds/core/podrefs.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

const defaultAccount = "default";
/** One hour and a mark by which upstream's later releases tell tokens of this volume. */
const tokenSeconds = 3607;

type Account = ApiObject & ServiceAccount;

/** Builds the plugin. */
export function serviceAccount(environment: Environment): AdmissionPlugin {
  return new ServiceAccounts(environment);
}

class ServiceAccounts implements AdmissionPlugin {
  readonly #accounts: ObjectTable<Account>;
  readonly #view: LogView;
  readonly #clock: Environment["clock"];
  readonly #mirror: string;
  readonly #enforce: string;
  readonly #mountPath: string;
  readonly #volumePrefix: string;
  readonly #rootCa: string;

  constructor({ objects, identity, clock }: Environment) {
    const view = objects.view("", "v1", "serviceaccounts");
    assert(view !== undefined, "Service accounts are stored");
    this.#view = view;
    this.#accounts = objects.table<Account>("", "v1", "serviceaccounts");
    this.#clock = clock;
    this.#mirror = identity.spell("kubernetes.io/config.mirror");
    this.#enforce = identity.spell("kubernetes.io/enforce-mountable-secrets");
    this.#mountPath = identity.spell("/var/run/secrets/kubernetes.io/serviceaccount");
    this.#volumePrefix = identity.spell("kube-api-access-");
    this.#rootCa = identity.spell("kube-root-ca.crt");
  }

  mutate(attributes: Attributes): Awaitable<Status | undefined> {
    const { operation, subresource, namespace } = attributes;
    if (operation !== "create" || subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
    const pod = attributes.object as ApiObject & Pod;
    if (pod.metadata.annotations?.has(this.#mirror) === true) return this.validate(attributes);
    const { spec } = pod;
    spec.serviceAccountName ||= defaultAccount;
    const found = this.#accounts.get(namespace, spec.serviceAccountName);
    if (found === undefined && spec.serviceAccountName === defaultAccount) return this.#later(attributes, spec);
    return this.#complete(attributes, spec, found);
  }

  validate(attributes: Attributes): Status | undefined {
    const { operation, subresource, namespace } = attributes;
    if (!isAbout(attributes, "", "pods")) return undefined;
    const debugs = operation === "update" && subresource === "ephemeralcontainers";
    if (!debugs && (operation !== "create" || subresource !== "")) return undefined;
    const { metadata, spec } = attributes.object as ApiObject & Pod;
    if (!debugs && metadata.annotations?.has(this.#mirror) === true) return checkMirror(attributes, spec);
    const name = spec.serviceAccountName ?? "";
    if (name === "")
      return forbid(attributes, `no service account specified for pod ${namespace}/${metadata.name ?? ""}`);
    const account = this.#accounts.get(namespace, name);
    if (account === undefined) return this.#missing(attributes, name);
    if (!isTrue(account.metadata.annotations?.get(this.#enforce))) return undefined;
    const why = debugs ? unlistedInContainers(account, debugContainers(spec)) : unlisted(account, spec);
    return why === undefined ? undefined : forbid(attributes, why);
  }

  /** What the account gives to the pod. */
  #complete(attributes: Attributes, spec: PodSpec, account: Account | undefined): Status | undefined {
    if (account === undefined) return this.#missing(attributes, spec.serviceAccountName ?? "");
    const wanted = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
    if (wanted) this.#mountToken(spec);
    if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0) {
      spec.imagePullSecrets = (account.imagePullSecrets ?? []).map(({ name }) => ({ name }));
    }
    return this.validate(attributes);
  }

  /** Waits a moment for the account every namespace gets: a namespace is often made just before its first pod. */
  async #later(attributes: Attributes, spec: PodSpec): Promise<Status | undefined> {
    const { namespace, deadline } = attributes;
    const ms = Math.min(limits.defaultAccountWaitMsMax, deadline - this.#clock.monotonic());
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        stop();
        resolve();
      };
      const timer = setTimeout(done, ms);
      const stop = this.#view.onNews(() => {
        if (this.#accounts.get(namespace, defaultAccount) !== undefined) done();
      });
      // It may have come between the look and the subscription.
      if (this.#accounts.get(namespace, defaultAccount) !== undefined) done();
    });
    return this.#complete(attributes, spec, this.#accounts.get(namespace, defaultAccount));
  }

  #missing(attributes: Attributes, name: string): Status {
    const { namespace } = attributes;
    const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
    return forbid(attributes, why);
  }

  /** Mounts the token in every container that has nothing at its path. */
  #mountToken(spec: PodSpec): void {
    const present = (spec.volumes ?? []).find(({ name }) => name.startsWith(this.#volumePrefix));
    // Random upstream. A name the pod has already is taken for this volume, so that any will do; and what is the same in
    // all pods of a template is done once.
    const name = present?.name ?? `${this.#volumePrefix}${suffixOf(spec.serviceAccountName ?? "")}`;
    let needed = false;
    for (const containers of [spec.initContainers, spec.containers]) {
      for (const container of containers ?? []) {
        const mounts = container.volumeMounts ?? [];
        if (mounts.some(({ mountPath }) => mountPath === this.#mountPath)) continue;
        container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: this.#mountPath }];
        needed = true;
      }
    }
    if (needed && present === undefined) spec.volumes = [...(spec.volumes ?? []), this.#tokenVolume(name)];
  }

  #tokenVolume(name: string): Volume {
    const sources = [
      { serviceAccountToken: { expirationSeconds: tokenSeconds, path: "token" } },
      { configMap: { name: this.#rootCa, items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ];
    return { name, projected: { sources, defaultMode: 0o644 } };
  }
}

/** Mirror pods show what a node runs by itself: nothing of the cluster's may be asked for through them. */
function checkMirror(attributes: Attributes, spec: PodSpec): Status | undefined {
  if (spec.serviceAccountName) return forbid(attributes, "a mirror pod may not reference service accounts");
  if (secretNames(spec).next().done !== true) return forbid(attributes, "a mirror pod may not reference secrets");
  const sources = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  if (!sources.some((source) => source.serviceAccountToken !== undefined)) return undefined;
  return forbid(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
}

/** Go's strconv.ParseBool, of which anything but a yes is a no. */
function isTrue(text: string | undefined): boolean {
  return text !== undefined && ["1", "t", "T", "TRUE", "true", "True"].includes(text);
}

/** A container, and how upstream calls its kind. */
type Named = readonly [word: string, container: Container | EphemeralContainer];

function debugContainers(spec: PodSpec): Named[] {
  return (spec.ephemeralContainers ?? []).map((container) => ["ephemeral container", container]);
}

/** The first secret a pod names that its account does not list, in a sentence. */
function unlisted(account: Account, spec: PodSpec): string | undefined {
  const listed = new Set((account.secrets ?? []).map(({ name }) => name));
  const because = `is not allowed because service account ${account.metadata.name} does not reference that`;
  for (const { secret, projected } of spec.volumes ?? []) {
    const names = secret === undefined ? [] : [secret.secretName ?? ""];
    for (const source of projected?.sources ?? [])
      if (source.secret !== undefined) names.push(source.secret.name ?? "");
    const name = names.find((one) => !listed.has(one));
    if (name !== undefined) return `volume with secret.secretName="${name}" ${because} secret`;
  }
  const init = (spec.initContainers ?? []).map((container): Named => ["init container", container]);
  const plain = (spec.containers ?? []).map((container): Named => ["container", container]);
  const inContainers = unlistedInContainers(account, [...init, ...plain, ...debugContainers(spec)]);
  if (inContainers !== undefined) return inContainers;
  const pulled = new Set((account.imagePullSecrets ?? []).map(({ name }) => name));
  const index = (spec.imagePullSecrets ?? []).findIndex(({ name }) => !pulled.has(name));
  if (index === -1) return undefined;
  return `imagePullSecrets[${index}].name="${spec.imagePullSecrets?.[index]?.name ?? ""}" ${because} imagePullSecret`;
}

function unlistedInContainers(account: Account, containers: readonly Named[]): string | undefined {
  const listed = new Set((account.secrets ?? []).map(({ name }) => name));
  const because = `is not allowed because service account ${account.metadata.name} does not reference that secret`;
  for (const [word, { name, env, envFrom }] of containers) {
    for (const { name: variable, valueFrom } of env ?? []) {
      const secret = valueFrom?.secretKeyRef;
      if (secret === undefined || listed.has(secret.name)) continue;
      return `${word} ${name} with envVar ${variable} referencing secret.secretName="${secret.name ?? ""}" ${because}`;
    }
    for (const { secretRef } of envFrom ?? []) {
      if (secretRef === undefined || listed.has(secretRef.name)) continue;
      return `${word} ${name} with envFrom referencing secret.secretName="${secretRef.name ?? ""}" ${because}`;
    }
  }
  return undefined;
}
