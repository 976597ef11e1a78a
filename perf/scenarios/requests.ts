// Kinds of requests about pods, as scenarios send them: bodies of the corpus, with a number in the name, as people's
// clients send them in JSON or as controllers do in protobuf.
import { digits, messageTemplate } from "../corpus/message.ts";
import { podBody } from "../corpus/pod.ts";
import { protobufType, type Work } from "../harness/work.ts";

/** How many objects requests that need some go around in. */
export const knownMax = 5000;

/** Seconds that a thousand creates may take. */
const secondsPerThousand = 30;

/** Seconds that preparing so many pods may take. */
export function prepareSecondsOf(count: number): number {
  return 60 + (count / 1000) * secondsPerThousand;
}

const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const jsonPatch = "application/json-patch+json";
const apply = "application/apply-patch+yaml";

/** What is the same for all kinds of requests of a run. */
export type Shape = Pick<Work, "connections" | "rate">;

/** Requests about the pods of a namespace, in one format. */
export class PodRequests {
  readonly #namespace: string;
  readonly #shape: Shape;
  readonly #protobuf: boolean;

  /** `namespace`: its path. */
  constructor(namespace: string, shape: Shape, protobuf = false) {
    this.#namespace = namespace;
    this.#shape = shape;
    this.#protobuf = protobuf;
  }

  get path(): string {
    return `${this.#namespace}/pods`;
  }

  /** The same at another pace. */
  with(shape: Shape): PodRequests {
    return new PodRequests(this.#namespace, shape, this.#protobuf);
  }

  /** Creates pod `<prefix><n>`. */
  create(prefix: string): Work {
    return this.#create(podBody(0, `${prefix}${this.#place()}`));
  }

  /** The same of a pod that is on no node, and may be bound. */
  createFree(prefix: string): Work {
    const pod = JSON.parse(podBody(0, `${prefix}${this.#place()}`)) as { spec: { nodeName?: string } };
    delete pod.spec.nodeName;
    return this.#create(JSON.stringify(pod));
  }

  /** The same of a pod that is left alone: on a node that is not there it is collected, and without one scheduled. */
  createIdle(prefix: string): Work {
    const pod = JSON.parse(podBody(0, `${prefix}${this.#place()}`)) as {
      spec: { nodeName?: string; schedulerName?: string };
    };
    delete pod.spec.nodeName;
    pod.spec.schedulerName = "none";
    return this.#create(JSON.stringify(pod));
  }

  #create(json: string): Work {
    const body = this.#body("pods", json);
    return { ...this.#common(this.path, 201), ...body, name: "create", method: "POST" };
  }

  /** Creates pod `<prefix><n>` by server-side apply, which has no form in protobuf. */
  applyNew(prefix: string): Work {
    const name = `${prefix}${this.#place()}`;
    const path = `${this.path}/${name}?fieldManager=applier`;
    return { ...this.#common(path, 201), name: "apply-new", method: "PATCH", type: apply, body: podBody(0, name) };
  }

  /** Requests about the pods there are, by verb; `known` of them. */
  changes(prefix: string, known: number): ReadonlyMap<string, Work> {
    const name = `${prefix}${this.#place(known)}`;
    const path = `${this.path}/${name}`;
    const common = this.#common(path, 200);
    const patch = { ...common, method: "PATCH" } as const;
    const number = this.#place();
    const label = `{"metadata":{"labels":{"n":"${number}"}}}`;
    const changed = podBody(0, name, { n: number });
    const works: readonly Work[] = [
      { ...common, name: "get", method: "GET" },
      { ...common, ...this.#body("pods", changed), name: "update", method: "PUT" },
      { ...patch, name: "merge-patch", type: merge, body: label },
      { ...patch, name: "strategic-patch", type: strategic, body: label },
      {
        ...{ ...patch, name: "json-patch", type: jsonPatch },
        body: `[{"op":"add","path":"/metadata/labels/n","value":"${number}"}]`,
      },
      {
        ...{ ...patch, name: "status", path: `${path}/status`, type: merge },
        body: `{"status":{"message":"${number}"}}`,
      },
      {
        ...{ ...patch, name: "apply", path: `${path}?fieldManager=applier`, type: apply },
        body: podBody(0, name, { n: number }),
      },
    ];
    return new Map(works.map((work) => [work.name, work]));
  }

  /** Binds pod `<prefix><n>` to a node. */
  bind(prefix: string): Work {
    const name = `${prefix}${this.#place()}`;
    const target = { kind: "Node", name: "perf" };
    const binding = JSON.stringify({ apiVersion: "v1", kind: "Binding", metadata: { name }, target });
    const body = this.#body("bindings", binding);
    return { ...this.#common(`${this.path}/${name}/binding`, 201), ...body, name: "bind", method: "POST" };
  }

  /** Creates event `<prefix><n>`. */
  event(prefix: string): Work {
    const place = this.#place();
    const namespace = this.#namespace.slice(this.#namespace.lastIndexOf("/") + 1);
    const at = "2026-11-21T10:00:00Z";
    const event = {
      ...{ apiVersion: "v1", kind: "Event", metadata: { name: `${prefix}${place}` } },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name: `p${place}` },
      ...{ reason: "Scheduled", message: `Successfully assigned ${namespace}/p${place} to perf`, type: "Normal" },
      ...{ source: { component: "default-scheduler" }, firstTimestamp: at, lastTimestamp: at, count: 1 },
    };
    const body = this.#body("events", JSON.stringify(event));
    return { ...this.#common(`${this.#namespace}/events`, 201), ...body, name: "event", method: "POST" };
  }

  /** Removes pod `<prefix><n>`. */
  delete(prefix: string): Work {
    const path = `${this.path}/${prefix}${this.#place()}?gracePeriodSeconds=0`;
    return { ...this.#common(path, 200), name: "delete", method: "DELETE" };
  }

  #common(path: string, wanted: number) {
    const common = { ...this.#shape, path, wanted, from: 0 };
    return this.#protobuf ? { ...common, accept: protobufType } : common;
  }

  /** Where the number of a request goes, or its remainder. */
  #place(modulus = 0): string {
    return `<n${modulus === 0 ? "" : `%${modulus}`}${this.#protobuf ? `:${digits}` : ""}>`;
  }

  #body(plural: string, json: string): Pick<Work, "body" | "type" | "isBinary"> {
    if (!this.#protobuf) return { body: json };
    return { body: messageTemplate(plural, json), type: protobufType, isBinary: true };
  }
}
