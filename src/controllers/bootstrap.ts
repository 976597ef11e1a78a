// What exists from the first start on: the namespaces the system lives in, the priority classes of its pods, roles and
// bindings, and what other servers are told of authentication. Creating what is there already does nothing, so every
// start may run it.
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import type { Objects } from "../cache/view/objects.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { publishAuthentication } from "./authentication.ts";
import { bootstrapPolicy } from "./rbacpolicy.ts";
import type { Controller, Pace, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

/** In canonical spelling. */
const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Priority classes, in canonical spelling: name, value, and upstream's description, which clients compare. */
const systemClasses: readonly (readonly [name: string, value: number, description: string])[] = [
  [
    "system-node-critical",
    2_000_001_000,
    "Used for system critical pods that must not be moved from their current node.",
  ],
  [
    "system-cluster-critical",
    2_000_000_000,
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  ],
];

/** What a start is told. */
export interface BootstrapOptions {
  readonly objects: Objects;
  /** What other servers are told of authentication. */
  readonly published: () => ReadonlyMap<string, string>;
  /** Called when the namespaces were made, or could not be; any number of times. */
  readonly onNamespaces: () => void;
}

/** Keys of the start as a whole, and of what is published, which changes later, too. */
const [startKey, publishedKey] = ["start", "authentication"];

/** Makes what a server starts with, until it is there. Follows nothing. */
export class Bootstrap implements Controller {
  readonly pace: Pace = { retryMsMin: limits.bootstrapRetryMs, retryMsMax: limits.bootstrapRetryMs };
  /** Resolves when everything is there. */
  readonly done: Promise<void>;
  readonly #writers: WriteServices;
  readonly #options: BootstrapOptions;
  #resolve: () => void = () => undefined;

  constructor(writers: WriteServices, options: BootstrapOptions) {
    this.#writers = writers;
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  all(queue: Queue): void {
    queue.add(startKey);
  }

  /** What is published changed. */
  publish(queue: Queue): void {
    queue.add(publishedKey);
  }

  async work(key: string, queue: Queue): Promise<Result> {
    if (key === publishedKey) {
      const refused = await this.#publish();
      return refused && { cause: refused, message: "Authorities cannot be published" };
    }
    const refused = await this.#start(queue);
    if (refused !== undefined) return { cause: refused, message: "What a server starts with cannot be created" };
    this.#resolve();
    return undefined;
  }

  async #start({ signal }: Queue): Promise<Status | undefined> {
    const writers = this.#writers;
    const missing = (await bootstrapPriorityClasses(writers)) ?? (await bootstrapNamespaces(writers));
    this.#options.onNamespaces();
    return (
      missing ??
      (await bootstrapPolicy(writers, this.#options.objects, () => signal.aborted)) ??
      (await this.#publish())
    );
  }

  #publish(): Promise<Status | undefined> {
    return publishAuthentication(this.#writers, this.#options.published());
  }
}

/** Creates the system's namespaces where they are missing. The first refusal that is no "exists already", or undefined. */
export async function bootstrapNamespaces(writers: WriteServices): Promise<Status | undefined> {
  const { spell } = writers.scheme.identity;
  const { resource } = storedKind(writers, "", "v1", "namespaces");
  return createMissing(
    writers,
    resource,
    systemNamespaces.map((name) => named(spell(name), [])),
  );
}

/** Creates the system's priority classes where they are missing and the kind is served; answers as the above. */
export async function bootstrapPriorityClasses(writers: WriteServices): Promise<Status | undefined> {
  const classes = writers.scheme.find(writers.scheme.identity.spell("scheduling.k8s.io"), "v1", "priorityclasses");
  if (classes === undefined) return undefined;
  const documents = systemClasses.map(([name, value, description]) =>
    named(name, [
      ["value", value],
      ["description", description],
    ]),
  );
  return createMissing(writers, classes, documents);
}

/** A document of an object with this name. */
function named(name: string, fields: readonly (readonly [string, Value])[]): Value {
  return new Map<string, Value>([["metadata", new Map([["name", name]])], ...fields]);
}

async function createMissing(
  writers: WriteServices,
  resource: Resource,
  documents: readonly Value[],
): Promise<Status | undefined> {
  const actor = new Actor(writers, "kube-apiserver");
  for (const content of documents) {
    const done = await actor.create({ resource }, content);
    if (isStatus(done) && done.reason !== "AlreadyExists") return done;
  }
  return undefined;
}
