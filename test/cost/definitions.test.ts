// The longest turn of a front with definitions: as large as operators publish, and as dear as their authors can make them.
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import { slowness } from "../support/cost.ts";
import { definitions } from "../support/definitions.ts";
import type { Json } from "../support/ecosystem/parts.ts";
import { ecosystem } from "../support/ecosystem.ts";
import { definition as definitionOf, established, version } from "../support/published.ts";
import { ask, longestTurn, openWithPool, type Sent } from "../support/turns.ts";

t.setTimeout(300_000);

/** What the longest turn may take on a machine as fast as the one these bounds were found on, in milliseconds. */
const turnMsMax = 20;
/** The least counts, and a machine with other work needs more tries to show it; one that is fine ends them. */
const triesMax = 15;
const json = { "content-type": "application/json" };
const merge = { "content-type": "application/merge-patch+json" };

const text = { type: "string" };

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function spec(schema: Json): Json {
  return definitionOf("Dear", { schema: { type: "object", properties: { spec: schema } } });
}

function fields(count: number, make: (index: number) => Json): Json {
  return { type: "object", properties: Object.fromEntries(many(count, (index) => [`f${index}`, make(index)])) };
}

/** A published definition at so many versions. */
function versionsOf(plural: string, count: number): Json {
  const found = ecosystem().find((each) => each.plural === plural);
  if (found === undefined) throw new Error(plural);
  const definition = structuredClone(found.definition) as { spec: { versions: Json[] } };
  const [first] = definition.spec.versions;
  definition.spec.versions = many(count, (index) => ({ ...first, name: `v${index + 1}`, storage: index === 0 }));
  return definition as unknown as Json;
}

const most = limits.definitionSchemasMax - 100;
const other = (index: number): Json =>
  version(`v${index + 1}`, { type: "object", description: `${index}` }, { storage: index === 0 });

/** What is accepted. */
const shapes: Readonly<Record<string, () => Json>> = {
  "363 KB of a monitoring server": () => versionsOf("prometheuses", 1),
  "1.1 MB of a monitoring server": () => versionsOf("prometheuses", 3),
  "1.1 MB of routes": () => versionsOf("httproutes", 11),
  "fields that are all different": () => spec(fields(most, (index) => ({ ...text, maxLength: index }))),
  "patterns, as many as there may be": () => spec(fields(800, (index) => ({ ...text, pattern: `^[a-z]{3}${index}$` }))),
  "an enum, as long as it may be": () => spec({ ...text, enum: many(most, (index) => `value ${index}`) }),
  "many versions": () => definitionOf("Dear", { versions: many(500, other) }),
  "1.1 MB of one description": () => spec({ ...text, description: "some text ".repeat(110_000) }),
  "many alternatives": () => spec({ type: "integer", anyOf: many(most, (index) => ({ minimum: index })) }),
  "many defaults": () => spec(fields(4_000, () => ({ ...text, default: "x" }))),
};

/** What is refused, with what is said of it. */
const refused: Readonly<Record<string, readonly [make: () => Json, code: number, text: RegExp]>> = {
  "more fields than there may be": [
    () => spec(fields(55_000, () => text)),
    422,
    /spec\.versions: Forbidden: must not have more than 15000 schemas/,
  ],
  "a longer enum than there may be": [
    () => spec({ ...text, enum: many(100_000, String) }),
    422,
    /must not have more than 15000 schemas/,
  ],
  "more names of fields than there may be": [
    () => spec({ ...fields(1, () => text), required: many(100_000, String) }),
    422,
    /must not have more than/,
  ],
  "1.2 MB of a default": [
    () => spec({ type: "array", items: text, default: many(100_000, String) }),
    422,
    /default: Forbidden: takes too many steps/,
  ],
  "defaults that are dear to check": [
    () =>
      spec({
        type: "array",
        items: { type: "integer", allOf: many(500, (index) => ({ minimum: -index })) },
        default: many(1000, () => 1),
      }),
    422,
    /default: Forbidden: takes too many steps/,
  ],
  "3 MB": [() => spec({ ...text, description: "some text ".repeat(290_000) }), 413, /too large/],
};

/** What takes longer, and how long it may: what is refused for its size is decoded before, in one turn. */
const known: Readonly<Record<string, number>> = { "more fields than there may be": 35 };

type Server = Awaited<ReturnType<typeof openWithPool>>["server"];

/** The steps of a definition's life on a front, each a request; `body`: the definition as it is stored. */
function stepsOf(
  server: Server,
  definition: Json,
): readonly (readonly [name: string, prepare: (stored: Json) => () => Promise<Sent>])[] {
  const { group, names, versions } = definition["spec"] as {
    group: string;
    names: { plural: string; kind: string };
    versions: Json[];
  };
  const { name } = definition["metadata"] as { name: string };
  const at = `${definitions}/${name}`;
  const served = `/apis/${group}/${String(versions[0]?.["name"])}`;
  const put = (path: string, body: Json): (() => Promise<Sent>) => {
    const bytes = Buffer.from(JSON.stringify(body));
    return () => ask(server, "PUT", path, bytes, json);
  };
  const renamed = (stored: Json): Json => {
    const changed = structuredClone(stored) as { spec: { names: Json } };
    changed.spec.names["shortNames"] = ["dr"];
    return changed as unknown as Json;
  };
  return [
    ["get", () => () => ask(server, "GET", at)],
    ["status", (stored) => put(`${at}/status`, established(stored))],
    ["first request", () => () => ask(server, "GET", `${served}/${names.plural}`)],
    ["update", (stored) => put(at, renamed(stored))],
    ["request after it", () => () => ask(server, "GET", `${served}/${names.plural}`)],
    ["patch", () => () => ask(server, "PATCH", at, Buffer.from('{"metadata":{"labels":{"a":"b"}}}'), merge)],
    ["discovery", () => () => ask(server, "GET", served)],
    ["list", () => () => ask(server, "GET", definitions)],
  ];
}

async function storedAt(server: Server, name: string): Promise<Json> {
  return (await server.call("GET", `${definitions}/${name}`)).json;
}

/** Ends a definition, so that the next try begins anew. */
async function end(server: Server, name: string, prefix: string): Promise<void> {
  await server.call("DELETE", `${definitions}/${name}`);
  await server.call("PATCH", `${definitions}/${name}`, '{"metadata":{"finalizers":null}}', merge);
  await server.views.giveUp(prefix);
}

t.test("no turn of a front is longer than it may be: definitions", async (t) => {
  const { server, close } = await openWithPool();
  t.teardown(close);
  for (const [shape, make] of Object.entries(shapes)) {
    const definition = make();
    const body = Buffer.from(JSON.stringify(definition));
    const { group, names } = definition["spec"] as { group: string; names: { plural: string } };
    const { name } = definition["metadata"] as { name: string };
    const prefix = `/registry/${group}/${names.plural}`;
    const least = new Map<string, number>();
    const isFine = (): boolean => least.size > 0 && [...least.values()].every((ms) => ms <= turnMsMax);
    for (let round = 0; round < triesMax && !isFine(); round += 1) {
      const slow = slowness();
      const take = async (step: string, run: () => Promise<Sent>): Promise<void> => {
        const ms = await longestTurn(async () => {
          const { code, chunks } = await run();
          if (code >= 300) t.fail(`${shape}: ${step}: ${code} ${Buffer.concat(chunks).toString("utf8", 0, 300)}`);
        });
        least.set(step, Math.min(ms / slow, least.get(step) ?? Number.POSITIVE_INFINITY));
      };
      await take("create", () => ask(server, "POST", definitions, body, json));
      await server.views.register(prefix);
      for (const [step, prepare] of stepsOf(server, definition)) {
        await take(step, prepare(await storedAt(server, name)));
      }
      await end(server, name, prefix);
    }
    for (const [step, ms] of least) t.ok(ms <= turnMsMax, `${shape}: ${step}: ${ms.toFixed(1)} ms`);
  }
  t.same(server.faults, []);
});

t.test("what definitions must not cost is refused, and costs no long turn", async (t) => {
  const { server, close } = await openWithPool();
  t.teardown(close);
  for (const [shape, [make, code, words]] of Object.entries(refused)) {
    const body = Buffer.from(JSON.stringify(make()));
    const most = known[shape] ?? turnMsMax;
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < triesMax && least > most; round += 1) {
      const slow = slowness();
      let answer = "";
      let found = 0;
      const ms = await longestTurn(async () => {
        const sent = await ask(server, "POST", definitions, body, json);
        found = sent.code;
        answer = Buffer.concat(sent.chunks).toString();
      });
      least = Math.min(least, ms / slow);
      t.equal(found, code, `${shape}: ${answer.slice(0, 300)}`);
      t.match(answer, words);
    }
    t.ok(least <= most, `${shape}: ${least.toFixed(1)} ms`);
  }
  t.same(server.faults, []);
});
