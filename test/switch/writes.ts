// Random writes of every kind to whichever server serves.

import { identities } from "../../src/api/identity.ts";
import { createScheme, type Scheme } from "../../src/api/scheme.ts";
import { ObjectSource } from "../support/objects.ts";
import type { Draws } from "../support/random.ts";
import type { Answer } from "../support/server.ts";
import type { Side } from "./sides.ts";
import type { Body, Template } from "./templates.ts";

/** Counts of a run of writes. */
export interface WriteCounts {
  /** By verb: writes that were made. */
  readonly made: Record<string, number>;
  /** By `verb kind code`: writes that were refused. */
  readonly refused: Record<string, number>;
  /** Answers of 500 and more: what was asked, and the answer. */
  readonly failed: string[];
}

interface Known {
  readonly template: Template;
  readonly path: string;
}

const mergePatch = { "content-type": "application/merge-patch+json" };
const strategicPatch = { "content-type": "application/strategic-merge-patch+json" };
const jsonPatch = { "content-type": "application/json-patch+json" };
const applyPatch = { "content-type": "application/apply-patch+yaml" };

const texts = ["", "1", "two", "é日本", "x".repeat(60)];
const failedMax = 50;

/** Fields of random content are not for these: they are obeyed by the server that they are written to. */
const obeyed = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "FlowSchema", "RoleBinding"];
const obeyedToo = ["PriorityLevelConfiguration", "ClusterRoleBinding", "ResourceQuota", "LimitRange", "Namespace"];

/** A seeded source of writes; what was created is remembered from one server to the next. */
export class RandomWrites {
  readonly #draws: Draws;
  readonly #objects: ObjectSource;
  readonly #scheme: Scheme;
  readonly #known: Known[] = [];
  #made = 0;

  constructor(draws: Draws) {
    this.#draws = draws;
    this.#objects = new ObjectSource(draws);
    this.#scheme = createScheme({ identity: identities.kubernetes, runtimeConfig: new Map([["api/all", true]]) });
  }

  /** Makes `count` writes that succeed. */
  async run(side: Side, templates: readonly Template[], count: number): Promise<WriteCounts> {
    const counts: WriteCounts = { made: {}, refused: {}, failed: [] };
    let done = 0;
    for (let tries = 0; done < count && tries < count * 10; tries += 1) {
      const [verb, template, answer] = await this.#write(side, templates);
      if (answer.code < 300) {
        done += 1;
        counts.made[verb] = (counts.made[verb] ?? 0) + 1;
        continue;
      }
      const name = `${verb} ${template.resource.apiVersion} ${template.resource.kind} ${answer.code}`;
      counts.refused[name] = (counts.refused[name] ?? 0) + 1;
      if (answer.code >= 500 && counts.failed.length < failedMax) {
        counts.failed.push(`${name}: ${answer.text.slice(0, 400)}`);
      }
    }
    if (done < count) throw new Error(`${side.name} took ${done} of ${count} writes: ${JSON.stringify(counts)}`);
    return counts;
  }

  async #write(side: Side, templates: readonly Template[]): Promise<[string, Template, Answer]> {
    const { next, pick, chance } = this.#draws;
    if (this.#known.length < 20 || chance(35)) {
      // Services have what must not be given out twice.
      const services = templates.find(({ resource }) => resource.path === "/api/v1/services");
      const template = services !== undefined && chance(10) ? services : pick(templates);
      const path = this.#newPath(template);
      const isApply = chance(25);
      const answer = isApply ? await this.#apply(side, template, path) : await this.#create(side, template, path);
      if (answer.code < 300) this.#known.push({ template, path });
      return [isApply ? "apply-create" : "create", template, answer];
    }
    const index = next(this.#known.length);
    const known = this.#known[index] as Known;
    const { template, path } = known;
    const draw = next(100);
    if (draw < 18) {
      const answer = await this.#delete(side, path);
      if (answer.code === 200 || answer.code === 404) this.#known.splice(index, 1);
      return ["delete", template, answer];
    }
    if (draw < 33) return ["apply", template, await this.#apply(side, template, path)];
    if (draw < 48) return ["update", template, await this.#update(side, template, path)];
    if (draw < 62) return ["json-patch", template, await side.call("PATCH", path, this.#jsonPatch(), jsonPatch)];
    const body = this.#change(template);
    if (draw < 72 && !template.isCustom)
      return ["strategic", template, await side.call("PATCH", path, body, strategicPatch)];
    if (draw < 82) return ["status", template, await this.#status(side, template, path)];
    return ["merge-patch", template, await side.call("PATCH", path, body, mergePatch)];
  }

  #newPath({ resource, namespaces }: Template): string {
    this.#made += 1;
    const name = `w-${this.#made}-${this.#draws.next(1_000_000)}`;
    if (namespaces === undefined) return `${resource.path}/${name}`;
    const [, base = "", plural = ""] = /^(.*)\/([^/]+)$/.exec(resource.path) ?? [];
    return `${base}/namespaces/${this.#draws.pick(namespaces)}/${plural}/${name}`;
  }

  /** A whole object for a path. */
  #body(template: Template, path: string): Body {
    const { pick, chance } = this.#draws;
    const body = structuredClone(pick(template.bodies)) as Body;
    const { apiVersion, kind } = template.resource;
    const name = path.slice(path.lastIndexOf("/") + 1);
    const metadata: Body = { ...body["metadata"], name, ...this.#metadata() };
    if (chance(5)) metadata["finalizers"] = ["switch.example.com/f"];
    return { ...body, apiVersion, kind, metadata };
  }

  #metadata(): Body {
    const { pick, chance } = this.#draws;
    const metadata: Body = {};
    if (chance(70)) metadata["labels"] = { [pick(["app", "x.io/tier"])]: pick(["a", "", "b"]) };
    if (chance(50)) metadata["annotations"] = { [pick(["n", "x.io/note"])]: pick(texts) };
    return metadata;
  }

  /** Part of an object, for a patch: labels, annotations, and some fields of its kind, with values of their type. */
  #change(template: Template): Body {
    const { chance } = this.#draws;
    const metadata = this.#metadata();
    if (chance(20)) metadata["labels"] = { app: null };
    return { metadata, ...(chance(50) ? this.#fields(template) : {}) };
  }

  /** Random fields of a kind; most are refused for what they say, and the rest is stored. */
  #fields({ resource, isCustom }: Template): Body {
    const { pick, chance, next } = this.#draws;
    if (isCustom) return { spec: { size: next(9), [pick(["open", "ratio"])]: pick([null, {}, 1.5]) } };
    const [group, version] = resource.apiVersion.includes("/")
      ? resource.apiVersion.split("/")
      : ["", resource.apiVersion];
    const plural = resource.path.slice(resource.path.lastIndexOf("/") + 1);
    const found = this.#scheme.find(group as string, version as string, plural);
    if (found === undefined || obeyed.includes(resource.kind) || obeyedToo.includes(resource.kind)) return {};
    const object = JSON.parse(this.#objects.json(found.message)) as Body;
    delete object["metadata"];
    delete object["status"];
    if (resource.kind === "Pod" && chance(90)) return { spec: { activeDeadlineSeconds: 1 + next(100) } };
    // One field, and of its own fields one: the less there is, the less is refused.
    const names = Object.keys(object);
    if (names.length === 0) return {};
    const name = pick(names);
    const value = object[name];
    if (typeof value !== "object" || Array.isArray(value)) return { [name]: value };
    const inner = Object.keys(value);
    return inner.length === 0 ? {} : { [name]: chance(80) ? one(value, pick(inner)) : value };
  }

  #create(side: Side, template: Template, path: string): Promise<Answer> {
    const body = this.#body(template, path);
    if (this.#draws.chance(30)) Object.assign(body, merge(body, this.#fields(template)));
    return side.call("POST", path.slice(0, path.lastIndexOf("/")), body);
  }

  #apply(side: Side, template: Template, path: string): Promise<Answer> {
    const { pick, chance } = this.#draws;
    const manager = pick(["one", "two", "three"]);
    const force = chance(70) ? "&force=true" : "";
    return side.call("PATCH", `${path}?fieldManager=${manager}${force}`, this.#body(template, path), applyPatch);
  }

  async #update(side: Side, template: Template, path: string): Promise<Answer> {
    const answer = await side.call("GET", path);
    if (answer.code !== 200) return answer;
    const body = merge(answer.json as Body, this.#change(template));
    if (this.#draws.chance(30)) delete body["metadata"].finalizers;
    return side.call("PUT", path, body);
  }

  async #status(side: Side, template: Template, path: string): Promise<Answer> {
    const status: Body = template.isCustom
      ? { phase: this.#draws.pick(["", "Ready"]), replicas: this.#draws.next(5) }
      : {
          conditions: [
            { type: "Ready", status: "True", reason: "R", message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" },
          ],
        };
    return side.call("PATCH", `${path}/status`, { status }, mergePatch);
  }

  #jsonPatch(): object {
    const { pick } = this.#draws;
    return pick([
      [{ op: "add", path: "/metadata/annotations", value: { patched: pick(texts) } }],
      [{ op: "add", path: "/metadata/labels", value: { app: pick(["c", "d"]) } }],
      [{ op: "remove", path: "/metadata/labels" }],
      [{ op: "remove", path: "/metadata/annotations" }],
      [{ op: "add", path: "/metadata/finalizers", value: ["switch.example.com/g"] }],
      [{ op: "remove", path: "/metadata/finalizers" }],
    ]);
  }

  #delete(side: Side, path: string): Promise<Answer> {
    const { pick, chance } = this.#draws;
    const options = chance(60)
      ? { gracePeriodSeconds: 0 }
      : { propagationPolicy: pick(["Background", "Foreground", "Orphan"]) };
    return side.call("DELETE", path, chance(20) ? undefined : options);
  }
}

function one(value: Body, name: string): Body {
  return { [name]: value[name] };
}

/** A merge of JSON (RFC 7396). */
function merge(target: Body, change: Body): Body {
  const merged: Body = { ...target };
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete merged[name];
    else if (typeof value === "object" && !Array.isArray(value)) merged[name] = merge(merged[name] ?? {}, value);
    else merged[name] = value;
  }
  return merged;
}
