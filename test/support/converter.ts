// A conversion webhook for tests, and a definition that names it: `spec.host` at v1 is `spec.address` at v2.
import type { ServerResponse } from "node:http";
import type { Exchange } from "../../src/request/exchange/transport.ts";
import { definition, definitions, establishedIn } from "./definitions.ts";
import { type InProcess, until } from "./inprocess.ts";
import { openPeer, type Peer, sayJson } from "./peer.ts";

/** An object as the webhook gets it. */
export interface Sent {
  apiVersion: string;
  kind: string;
  metadata: Record<string, unknown>;
  spec?: Record<string, unknown>;
}

/** A request of a review. */
export interface Asked {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: Sent[];
}

/** What an answer says, before it is sent. */
export interface Said {
  apiVersion?: string;
  kind?: string;
  response?: { uid?: string; convertedObjects?: unknown; result?: unknown } | undefined;
}

/** A running webhook. */
export interface Converter {
  readonly peer: Peer;
  /** Requests so far, oldest first. */
  readonly asked: Asked[];
  /** The trace parent of each; undefined: it had none. */
  readonly parents: unknown[];
  /** Changes what is answered; undefined: an honest answer. */
  lie: ((said: Said, asked: Asked) => Said) | undefined;
  /** Answers in place of the webhook. */
  answer: ((response: ServerResponse) => void) | undefined;
  /** Answers wait for what this returns. */
  gate: (() => Promise<void>) | undefined;
}

/** Starts one; `names`: of its certificate. */
export async function openConverter(names?: string[]): Promise<Converter> {
  const peer = await openPeer((body, response, asks) => {
    const { apiVersion, kind, request } = JSON.parse(body) as { apiVersion: string; kind: string; request: Asked };
    converter.asked.push(request);
    converter.parents.push(asks.headers["traceparent"]);
    const reply = (): void => {
      if (converter.answer !== undefined) return converter.answer(response);
      const convertedObjects = request.objects.map((object) => moved(object, request.desiredAPIVersion));
      const said = {
        apiVersion,
        kind,
        response: { uid: request.uid, convertedObjects, result: { status: "Success" } },
      };
      sayJson(response, converter.lie?.(said, request) ?? said);
    };
    if (converter.gate === undefined) reply();
    else void converter.gate().then(reply);
  }, names);
  const converter: Converter = { peer, asked: [], parents: [], lie: undefined, answer: undefined, gate: undefined };
  return converter;
}

/** An object at another version. */
export function moved(object: Sent, apiVersion: string): Sent {
  const { spec = {} } = object;
  const [from, to] = apiVersion.endsWith("/v1") ? ["address", "host"] : ["host", "address"];
  const { [from]: value, ...rest } = spec;
  return { ...object, apiVersion, spec: value === undefined ? spec : { ...rest, [to]: value } };
}

/** A gate that is closed until it is opened. */
export function closedGate(): { gate: () => Promise<void>; open: () => void; readonly waiting: number } {
  const waiting: (() => void)[] = [];
  let isOpen = false;
  return {
    gate: () => (isOpen ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve))),
    open() {
      isOpen = true;
      for (const resolve of waiting.splice(0)) resolve();
    },
    get waiting() {
      return waiting.length;
    },
  };
}

const text = { type: "string" };
const versionOf = (name: string, field: string, storage: boolean): object => ({
  name,
  served: true,
  storage,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { [field]: text, n: { type: "integer" }, [`d${name.slice(1)}`]: { ...text, default: "set" } },
        },
        status: { type: "object", properties: { ready: { type: "boolean" } } },
      },
    },
  },
  subresources: { status: {} },
  additionalPrinterColumns: [{ name: "Field", type: "string", jsonPath: `.spec.${field}` }],
});

/** Widgets at v1 and v2. `stored`: the version they are stored in; `more` goes into the conversion. */
export function widgets({ peer }: Converter, stored = "v1", more: object = {}): Record<string, unknown> {
  const base = definition("widgets", "Widget") as { spec: object };
  const conversion = {
    strategy: "Webhook",
    webhook: {
      clientConfig: { url: `${peer.url}/convert`, caBundle: Buffer.from(peer.authority).toString("base64") },
      conversionReviewVersions: ["v1"],
      ...more,
    },
  };
  const versions = [versionOf("v1", "host", stored === "v1"), versionOf("v2", "address", stored === "v2")];
  return { ...base, spec: { ...base.spec, versions, conversion } };
}

/** Where widgets are at a version. */
export function at(version: string, name = ""): string {
  return `/apis/example.com/${version}/namespaces/default/widgets${name === "" ? "" : `/${name}`}`;
}

/** A widget. */
export function widget(version: string, name: string, value: string, metadata: object = {}): object {
  const spec = version === "v1" ? { host: value } : { address: value };
  return { apiVersion: `example.com/${version}`, kind: "Widget", metadata: { name, ...metadata }, spec };
}

/** Defines widgets. */
export async function defineWidgets(server: InProcess, converter: Converter, more: object = {}): Promise<void> {
  const made = await server.call("POST", definitions, widgets(converter, "v1", more));
  if (made.code !== 201) throw new Error(made.text);
  if (!(await establishedIn(server, "widgets.example.com"))) throw new Error("Not established");
}

/** Replaces the spec of their definition. */
export async function redefine(server: InProcess, spec: unknown): Promise<void> {
  const path = `${definitions}/widgets.example.com`;
  const done = await until(async () => {
    const now = (await server.call("GET", path)).json;
    const { code, text } = await server.call("PUT", path, { ...now, spec });
    if (code !== 200 && code !== 409) throw new Error(text);
    return code === 200;
  });
  if (!done) throw new Error("The definition was not changed");
}

/** A watch under way. */
export interface Watching {
  /** `TYPE name value` of each event, and of an error its message. */
  readonly events: string[];
  ended: boolean;
}

/** Opens a watch. */
export function watch(server: InProcess, path: string): Watching {
  const watching: Watching = { events: [], ended: false };
  let rest = "";
  const stream: Exchange["stream"] = () => ({
    write(chunk) {
      const lines = (rest + Buffer.from(chunk).toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim() !== "") watching.events.push(eventText(line));
      return true;
    },
    onDrain: () => undefined,
    end: () => void (watching.ended = true),
    abort: () => void (watching.ended = true),
  });
  const [where, query = ""] = path.split("?");
  void server.call("GET", `${where}?watch=1&${query}`, undefined, {}, { stream });
  return watching;
}

function eventText(line: string): string {
  const { type, object } = JSON.parse(line) as {
    type: string;
    object: Sent & { message?: string; rows?: { cells: string[] }[] };
  };
  if (type === "ERROR") return `ERROR ${object.message}`;
  if (object.rows !== undefined) return `${type} ${object.rows[0]?.cells.join(" ")}`;
  return `${type} ${String(object.metadata["name"])} ${String(object.spec?.["address"] ?? object.spec?.["host"])}`;
}
