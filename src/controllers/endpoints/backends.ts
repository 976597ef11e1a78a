// What services need to know of pods: address, readiness, node, named ports. It is read from a pod once per change, and
// only when a service selects the pod; several controllers share it.
import type { Pod } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { parseTime } from "../../api/time.ts";
import { flatText } from "../../base/flattext.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decodeLean, decodeStoredText } from "../../codec/engine/stored.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";

/** A pod as services see it. */
export interface Backend {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly ips: readonly string[];
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  /** It succeeded or failed: it will never serve again. */
  readonly isOver: boolean;
  /** Empty: not scheduled. */
  readonly nodeName: string;
  readonly hostname: string;
  readonly subdomain: string;
  /** Named ports of its containers, in their order. */
  readonly ports: readonly NamedPort[];
  /** When it became ready or not ready, in milliseconds since 1970; 0: it does not say. */
  readonly changedMs: number;
}

/** A port that services may name. */
export interface NamedPort {
  readonly name: string;
  readonly protocol: string;
  readonly number: number;
}

interface Known {
  readonly revision: number;
  readonly backend: Backend;
}

/** Backends by pod, each for as long as the pod is as it was: about 600 bytes. One per thread (`backendsOf()`). */
export class Backends {
  readonly #pods: Resource;
  readonly #view: LogView;
  readonly #known = new Map<string, Known>();

  constructor(pods: Resource, view: LogView) {
    this.#pods = pods;
    this.#view = view;
  }

  /** What the record at `at`, the live one of `key`, says. */
  get(key: string, at: Location): Backend {
    const revision = this.#view.revisionOf(at);
    const known = this.#known.get(key);
    if (known?.revision === revision) return known.backend;
    const text = Buffer.from(this.#view.object(at)).toString();
    const pod = decodeLean(this.#pods, text)?.object ?? decodeStoredText(this.#pods, text);
    const backend = backendOf(pod as ApiObject & Pod, String(revision));
    this.#known.set(key, { revision, backend });
    return backend;
  }

  /** The pod of a key is gone. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  /** Forgets every pod that is gone: changes may have been missed. */
  async prune(giveWay: () => Promise<void>): Promise<void> {
    for (const key of this.#known.keys()) {
      await giveWay();
      const slash = key.indexOf("/");
      if (this.#view.get(key.slice(0, slash), key.slice(slash + 1)) === 0) this.#known.delete(key);
    }
  }
}

const ofThread = new WeakMap<WriteServices, Backends>();

/** The backends of a thread. */
export function backendsOf(writers: WriteServices, pods: Resource, view: LogView): Backends {
  let backends = ofThread.get(writers);
  if (backends === undefined) {
    backends = new Backends(pods, view);
    ofThread.set(writers, backends);
  }
  return backends;
}

function backendOf({ metadata, spec, status }: ApiObject & Pod, resourceVersion: string): Backend {
  const { phase, podIP = "", podIPs = [], conditions = [] } = status;
  const ready = conditions.find(({ type }) => type === "Ready");
  const since = ready?.lastTransitionTime;
  const ips = podIPs.flatMap(({ ip = "" }) => (ip === "" ? [] : [flatText(ip)]));
  const ports = (spec.containers ?? []).flatMap(({ ports = [] }) =>
    ports.flatMap(({ name = "", protocol = "TCP", containerPort }) =>
      name === "" ? [] : [{ name: flatText(name), protocol: flatText(protocol), number: containerPort }],
    ),
  );
  return {
    name: flatText(metadata.name ?? ""),
    uid: flatText(metadata.uid ?? ""),
    resourceVersion,
    ips: ips.length > 0 || podIP === "" ? ips : [flatText(podIP)],
    isReady: ready?.status === "True",
    isTerminating: metadata.deletionTimestamp !== undefined,
    isOver: phase === "Succeeded" || phase === "Failed",
    nodeName: flatText(spec.nodeName ?? ""),
    hostname: flatText(spec.hostname ?? ""),
    subdomain: flatText(spec.subdomain ?? ""),
    ports,
    changedMs: since === undefined ? 0 : (parseTime(since) ?? 0),
  };
}
