// Definitions of the depth and size that operators publish, in a server of its own process: each is established, and its
// objects are defaulted, pruned, refused, applied, listed, watched and scaled as the definition says.
import t, { type Test } from "tap";
import { definitions } from "../support/definitions.ts";
import type { Json } from "../support/ecosystem/parts.ts";
import { ecosystem, edited, type Published, valueAt } from "../support/ecosystem.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

t.setTimeout(300_000);

const merge = { "content-type": "application/merge-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };
const asTable = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };

/** The status of a condition of a definition. */
async function conditionOf(server: TestServer, name: string, type: string): Promise<string | undefined> {
  const { json } = await server.call("GET", `${definitions}/${name}`);
  const conditions = (json.status?.conditions ?? []) as { type: string; status: string }[];
  return conditions.find((each) => each.type === type)?.status;
}

async function isEstablished(t: Test, server: TestServer, { name, definition, group }: Published): Promise<void> {
  const made = await server.call("POST", definitions, definition);
  t.equal(made.code, 201, made.text.slice(0, 1000));
  t.ok(
    await eventually(async () => (await conditionOf(server, name, "Established")) === "True", 30_000),
    "established",
  );
  const isProtected = group.endsWith(".k8s.io");
  const approved = await conditionOf(server, name, "KubernetesAPIApprovalPolicyConformant");
  t.equal(approved, isProtected ? "True" : undefined, "whether it is approved is told of protected groups");
}

async function isSettled(t: Test, server: TestServer, kind: Published): Promise<void> {
  const { path, defaults, unknown, open, object } = kind;
  const sent = edited(object("settled", 0), ...unknown.map((field) => [field, "x"] as const), ...open);
  const made = await server.call("POST", path, sent);
  t.equal(made.code, 201, made.text.slice(0, 1000));
  for (const [field, value] of defaults) t.same(valueAt(made.json, field), value, `default of ${field}`);
  for (const field of unknown) t.equal(valueAt(made.json, field), undefined, `${field} is pruned`);
  for (const [field, value] of open) t.same(valueAt(made.json, field), value, `${field} is kept`);
  const read = await server.call("GET", `${path}/settled`);
  t.same(read.json, made.json, "what was answered is what is read");
}

async function isRefused(
  t: Test,
  server: TestServer,
  { path, faults, object }: Published,
  isOn: boolean,
): Promise<void> {
  for (const [edit, field, text] of faults) {
    const { code, json } = await server.call("POST", path, edited(object("refused", 0), edit));
    const causes = (json.details?.causes ?? []) as { field: string; message: string }[];
    t.equal(code, 422, `${field}: ${JSON.stringify(json).slice(0, 500)}`);
    // What none of several schemas allows is told of no field, beside what is told of its own.
    const fields = new Set(causes.map((cause) => cause.field)).add("<nil>");
    // A rule may find the same.
    if (isOn) t.ok(fields.has(field), `${field} is among ${[...fields]}`);
    else t.same([...fields].sort(), [...new Set(["<nil>", field])].sort());
    t.match(causes.map((cause) => cause.message).join("\n"), text);
  }
  t.equal((await server.call("GET", `${path}/refused`)).code, 404);
}

/** Rules in CEL count with their gate alone. */
async function isRuled(t: Test, server: TestServer, { path, broken, object }: Published, isOn: boolean): Promise<void> {
  for (const [edit, field, text] of broken) {
    const { code, json } = await server.call("POST", `${path}?dryRun=All`, edited(object("broken", 0), edit));
    t.equal(code, isOn ? 422 : 201, JSON.stringify(json).slice(0, 500));
    if (!isOn) continue;
    const causes = (json.details?.causes ?? []) as { field: string; message: string }[];
    t.same(
      causes.map((cause) => cause.field),
      [field],
    );
    t.match(causes.map((cause) => cause.message).join(), text);
  }
}

async function isUpdated(t: Test, server: TestServer, { path, object }: Published): Promise<void> {
  const { json: before } = await server.call("POST", path, object("updated", 0));
  const next = { ...object("updated", 1), metadata: before.metadata };
  const updated = await server.call("PUT", `${path}/updated`, next);
  t.equal(updated.code, 200, updated.text.slice(0, 500));
  t.equal(updated.json.metadata.generation, 2);
  const stale = await server.call("PUT", `${path}/updated`, { ...object("updated", 2), metadata: before.metadata });
  t.equal(stale.code, 409, "what was changed in between is not overwritten");
  const status = { status: { conditions: [] } };
  const aside = await server.call("PATCH", `${path}/updated`, status, merge);
  t.equal(aside.json.metadata.resourceVersion, updated.json.metadata.resourceVersion, "status is written on its own");
  const again = await server.call("PUT", `${path}/updated`, updated.json);
  t.equal(again.json.metadata.resourceVersion, updated.json.metadata.resourceVersion, "the same is no change");
}

async function isApplied(t: Test, server: TestServer, { path, object, list }: Published): Promise<void> {
  await server.call("POST", path, object("applied", 0));
  const { spec: _spec, ...head } = object("applied", 0);
  const applied = async (manager: string, items: readonly Json[], more = "") => {
    const body = edited(head, [list.path, items]);
    return server.call("PATCH", `${path}/applied/status?fieldManager=${manager}${more}`, body, apply);
  };
  const itemsOf = (json: unknown): Json[] => (valueAt(json, list.path) ?? []) as Json[];
  const [one, two] = list.items;
  const first = await applied("one", [one]);
  t.equal(first.code, 200, first.text.slice(0, 1000));
  const second = await applied("two", [two]);
  t.equal(second.code, 200, second.text.slice(0, 1000));
  t.same(
    itemsOf(second.json).map((item, at) => holds(item, at === 0 ? one : two)),
    [true, true],
    "items of both",
  );
  const managers = second.json.metadata.managedFields as { manager: string; operation: string; subresource: string }[];
  const appliers = managers.filter(({ operation }) => operation === "Apply");
  t.same(appliers.map(({ manager, subresource }) => [manager, subresource]).sort(), [
    ["one", "status"],
    ["two", "status"],
  ]);
  const conflict = await applied("one", [one, list.changed]);
  t.equal(conflict.code, 409, `the item of another manager: ${conflict.text.slice(0, 300)}`);
  t.match(conflict.json.message, 'conflict with "two"');
  const left = await applied("one", []);
  t.equal(left.code, 200, left.text.slice(0, 500));
  t.same(
    itemsOf(left.json).map((item) => holds(item, two)),
    [true],
    "what a manager leaves out goes, and nothing else",
  );
  const taken = await applied("one", [list.changed], "&force=true");
  t.equal(taken.code, 200, taken.text.slice(0, 500));
  t.same(
    itemsOf(taken.json).map((item) => holds(item, list.changed)),
    [true],
    "unless it insists",
  );
}

/** Whether a value says all another one says. */
function holds(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  return Object.entries(wanted).every(([key, inner]) => holds((value as Json | undefined)?.[key], inner));
}

async function isListed(t: Test, server: TestServer, { path, columns, kind, object }: Published): Promise<void> {
  await server.call("POST", path, object("listed", 3));
  const { json } = await server.call("GET", path, undefined, asTable);
  t.equal(json.kind, "Table");
  const names = (json.columnDefinitions as { name: string; priority: number }[]).map(({ name }) => name.toUpperCase());
  t.same(names, ["NAME", ...columns]);
  const rows = json.rows as { cells: unknown[]; object: { metadata: { name: string } } }[];
  const row = rows.find(({ object: { metadata } }) => metadata.name === "listed");
  t.equal(row?.cells.length, columns.length + 1);
  t.equal(row?.cells[0], "listed");
  const whole = await server.call("GET", path);
  t.equal(whole.json.kind, `${kind}List`);
  t.same(
    rows.map((each) => each.object.metadata.name),
    (whole.json.items as { metadata: { name: string } }[]).map((each) => each.metadata.name),
  );
  const selected = await server.call("GET", `${path}?fieldSelector=metadata.name%3Dlisted`);
  t.equal(selected.json.items.length, 1);
}

async function isWatched(t: Test, server: TestServer, { path, object }: Published): Promise<void> {
  const { json } = await server.call("GET", `${path}?limit=1`);
  const seen: string[] = [];
  const query = `?watch=1&resourceVersion=${json.metadata.resourceVersion}`;
  const stop = server.watch(`${path}${query}`, ({ type, object: changed }) => {
    const { name, generation } = changed["metadata"] as { name: string; generation: number };
    seen.push(`${type} ${name} ${generation}`);
  });
  await server.call("POST", path, object("watched", 1));
  await server.call("PATCH", `${path}/watched`, { spec: object("watched", 2)["spec"] }, merge);
  await server.call("DELETE", `${path}/watched`);
  const wanted = ["ADDED watched 1", "MODIFIED watched 2", "DELETED watched 2"];
  t.ok(await eventually(() => seen.length >= wanted.length), "every change is seen");
  stop();
  t.same(seen, wanted);
}

async function isScaled(t: Test, server: TestServer, { path, object, size }: Published): Promise<void> {
  await server.call("POST", path, object("scaled", 0));
  const { code, json: scale } = await server.call("GET", `${path}/scaled/scale`);
  t.equal(code, size === undefined ? 404 : 200);
  if (size === undefined) return;
  const wanted = { ...scale, spec: { replicas: 5 } };
  const scaled = await server.call("PUT", `${path}/scaled/scale`, wanted);
  t.equal(scaled.code, 200, scaled.text);
  const { json } = await server.call("GET", `${path}/scaled`);
  t.equal(valueAt(json, size), 5);
  t.equal(json.metadata.generation, 2);
  const refused = await server.call("PUT", `${path}/scaled/scale`, { ...scaled.json, spec: { replicas: -1 } });
  t.equal(refused.code, 422, refused.text);
  const status = { status: { replicas: 4, selector: "app=scaled" } };
  await server.call("PATCH", `${path}/scaled/status`, status, merge);
  t.match((await server.call("GET", `${path}/scaled/scale`)).json, { status: status.status });
}

async function isServedByVersion(t: Test, server: TestServer, kind: Published): Promise<void> {
  const [stored = ""] = kind.versions;
  for (const version of kind.versions) {
    const path = kind.path.replace(`/${stored}/`, `/${version}/`);
    const { json } = await server.call("GET", `${path}/settled`);
    t.equal(json.apiVersion, `${kind.group}/${version}`);
    const made = await server.call("POST", `${path}?dryRun=All`, {
      ...kind.object(`by-${version}`, 4),
      apiVersion: `${kind.group}/${version}`,
    });
    t.equal(made.code, 201, made.text.slice(0, 500));
  }
}

async function isRemoved(t: Test, server: TestServer, { path, name }: Published): Promise<void> {
  const count = (await server.call("GET", path)).json.items.length;
  const left = new Set<string>();
  let added = 0;
  const stop = server.watch(`${path}?watch=1`, ({ type, object }) => {
    const { name: of } = object["metadata"] as { name: string };
    if (type === "DELETED") left.delete(of);
    else left.add(of);
    if (type === "ADDED") added += 1;
  });
  t.ok(await eventually(() => added === count), "the watch is open");
  t.equal((await server.call("DELETE", `${definitions}/${name}`)).code, 200);
  const gone = async (): Promise<boolean> => (await server.call("GET", `${definitions}/${name}`)).code === 404;
  t.ok(await eventually(gone, 30_000), "its definition goes");
  t.ok(await eventually(() => left.size === 0), `its watchers are told: ${[...left]}`);
  stop();
  t.equal((await server.call("GET", path)).code, 404);
}

/** All a definition has to do for its objects, on one server. */
async function works(t: Test, flags: readonly string[], isOn: boolean): Promise<void> {
  const server = await startServer(["--identity=kubernetes", "--front-workers=2", ...flags]);
  t.teardown(() => server.stop());
  for (const kind of ecosystem()) {
    await t.test(kind.name, async (t) => {
      await isEstablished(t, server, kind);
      await isSettled(t, server, kind);
      await isRefused(t, server, kind, isOn);
      await isRuled(t, server, kind, isOn);
      await isUpdated(t, server, kind);
      await isApplied(t, server, kind);
      await isListed(t, server, kind);
      await isWatched(t, server, kind);
      await isScaled(t, server, kind);
      await isServedByVersion(t, server, kind);
      await isRemoved(t, server, kind);
    });
  }
  t.notMatch(server.errors(), /"level":"(?:error|fatal)"/);
}

t.test("definitions of the size that operators publish are served, and their objects are what they say", (t) =>
  works(t, [], false),
);

t.test("with the gate, their rules in CEL hold, too", (t) =>
  works(t, ["--feature-gates=CustomResourceValidationExpressions=true"], true),
);
