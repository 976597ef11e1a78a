import type { Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { NamespaceController } from "../../src/controllers/namespace.ts";
import { changeTypes } from "../../src/storage/store.ts";
import { reconcilerOf } from "../support/controllers.ts";
import {
  conditionsOf,
  definition,
  definitions,
  establishedIn,
  goneFrom,
  runDefinitions,
  told,
} from "../support/definitions.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const merge = { "content-type": "application/merge-patch+json" };
const name = "widgets.example.com";
const widgets = "/apis/example.com/v1/namespaces/default/widgets";

/** A server with the controller running; `reports` is what it complained about. */
function running(title: string, check: (t: Test, server: InProcess, reports: string[]) => Promise<void>): void {
  scenario(title, async (t, server) => {
    const reports: string[] = [];
    const work = runDefinitions(server, reports);
    try {
      await check(t, server, reports);
    } finally {
      await work.stop();
    }
  });
}

function widget(name: string, finalizers?: string[]): object {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name, ...(finalizers && { finalizers }) } };
}

/** Logs of custom resources, on the store's side. */
function logsOf(server: InProcess): string[] {
  return server
    .logStats()
    .logs.map(({ prefix }) => prefix)
    .filter((prefix) => prefix.includes("example.com"));
}

/** Types of the events in what a watch sent. */
function events(text: string): string[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name: string } } };
    return `${type} ${object.metadata?.name}`;
  });
}

running("a definition is established, and served from the moment it says so", async (t, server, reports) => {
  t.equal((await server.call("GET", widgets)).text, "404 page not found\n");
  const made = await server.call(
    "POST",
    definitions,
    definition("widgets", "Widget", undefined, { shortNames: ["wd"] }),
  );
  t.equal(made.json.status.conditions, null);
  t.ok(await establishedIn(server, name));
  t.equal((await server.call("POST", widgets, widget("a"))).code, 201);
  const { status } = (await server.call("GET", `${definitions}/${name}`)).json;
  t.strictSame(
    status.conditions.map(({ lastTransitionTime: _, ...rest }: { lastTransitionTime: string }) => rest),
    [
      { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
      {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
      },
    ],
  );
  t.strictSame(status.acceptedNames, {
    plural: "widgets",
    singular: "widget",
    shortNames: ["wd"],
    kind: "Widget",
    listKind: "WidgetList",
  });
  // What a client wipes is told again.
  const current = (await server.call("GET", `${definitions}/${name}`)).json;
  await server.call("PUT", `${definitions}/${name}/status`, { ...current, status: { ...status, conditions: [] } });
  t.ok(await establishedIn(server, name));
  t.strictSame(reports, []);
});

running("names go to who has them first, and to the next one when they are free", async (t, server) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", definitions, definition("ones", "Widget", "example.com", { singular: "one" }));
  t.ok(await told(server, "ones.example.com", "NamesAccepted False ListKindConflict"));
  t.strictSame(await conditionsOf(server, "ones.example.com"), [
    "NamesAccepted False ListKindConflict",
    "Established False NotAccepted",
  ]);
  t.equal((await server.call("GET", "/apis/example.com/v1/ones")).text, "404 page not found\n");
  t.strictSame(logsOf(server), ["/registry/example.com/widgets"]);
  await server.call("DELETE", `${definitions}/${name}`);
  t.ok(await establishedIn(server, "ones.example.com"));
  t.equal((await server.call("GET", "/apis/example.com/v1/ones")).json.kind, "WidgetList");
  // A change of an established one: what it had stays until the conflict is over.
  await server.call("POST", definitions, definition("twos", "Two", "example.com", { shortNames: ["t"] }));
  t.ok(await establishedIn(server, "twos.example.com"));
  const rename = (shortNames: string[]): Promise<unknown> =>
    server.call("PATCH", `${definitions}/ones.example.com`, { spec: { names: { shortNames } } }, merge);
  await rename(["t"]);
  t.ok(await told(server, "ones.example.com", "NamesAccepted False ShortNamesConflict"));
  t.equal((await server.call("GET", "/apis/example.com/v1/ones")).code, 200, "it is served on");
  await rename([]);
  t.ok(await told(server, "ones.example.com", "NamesAccepted True NoConflicts"));
});

running("definitions of one kind made at once: one of them gets the names", async (t, server) => {
  const plurals = Array.from({ length: 20 }, (_, at) => `k${at}`);
  await Promise.all(plurals.map((plural) => server.call("POST", definitions, definition(plural, "Same"))));
  const verdicts = async (): Promise<string[]> =>
    (await Promise.all(plurals.map((plural) => conditionsOf(server, `${plural}.example.com`)))).map((c) => c[1] ?? "");
  t.ok(await until(async () => (await verdicts()).every((verdict) => verdict !== "")));
  t.equal((await verdicts()).filter((verdict) => verdict.startsWith("Established True")).length, 1);
  t.equal(logsOf(server).length, 1);
});

running("approval of a protected group is told first, and follows its annotation", async (t, server) => {
  const key = "api-approved.kubernetes.io";
  const group = "x.k8s.io";
  const meta = { annotations: { [key]: "unapproved, mine" } };
  await server.call("POST", definitions, definition("orbs", "Orb", group, {}, meta));
  t.ok(await establishedIn(server, "orbs.x.k8s.io"));
  t.strictSame(await conditionsOf(server, "orbs.x.k8s.io"), [
    "KubernetesAPIApprovalPolicyConformant False UnapprovedAnnotation",
    "NamesAccepted True NoConflicts",
    "Established True InitialNamesAccepted",
  ]);
  const annotations = { [key]: "https://example.com/1" };
  await server.call("PATCH", `${definitions}/orbs.x.k8s.io`, { metadata: { annotations } }, merge);
  t.ok(await told(server, "orbs.x.k8s.io", "KubernetesAPIApprovalPolicyConformant True ApprovedAnnotation"));
});

running(
  "a definition that is deleted waits for its objects' finalizers, and refuses creates",
  async (t, server, reports) => {
    await server.call("POST", definitions, definition("widgets", "Widget"));
    t.ok(await establishedIn(server, name));
    const held = await server.call("POST", widgets, widget("held", ["x.example.com/y"]));
    await server.call("POST", widgets, widget("free"));
    const watch = server.call("GET", `${widgets}?watch=1&resourceVersion=${held.json.metadata.resourceVersion}`);
    const deleted = await server.call("DELETE", `${definitions}/${name}?propagationPolicy=Foreground`);
    t.equal(deleted.code, 200);
    t.match(deleted.json.metadata, { finalizers: ["customresourcecleanup.apiextensions.k8s.io"], generation: 1 });
    t.type(deleted.json.metadata.deletionTimestamp, "string");
    t.equal(deleted.json.metadata.deletionGracePeriodSeconds, undefined);
    t.equal(deleted.json.status.conditions[2].reason, "InstanceDeletionPending");
    t.ok(await told(server, name, "Terminating True InstanceDeletionInProgress"));
    t.ok(await until(async () => (await server.call("GET", `${widgets}/free`)).code === 404));
    t.ok(await until(async () => (await server.call("GET", `${widgets}/held`)).text.includes("deletionTimestamp")));
    const refused = await server.call("POST", widgets, widget("new"));
    t.strictSame(refused.json, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "create not allowed while custom resource definition is terminating",
      reason: "MethodNotAllowed",
      details: { group: "example.com", kind: "widgets" },
      code: 405,
    });
    const apply = { "content-type": "application/apply-patch+yaml" };
    const applied = await server.call("PATCH", `${widgets}/new?fieldManager=m`, widget("new"), apply);
    t.equal(applied.code, 201, "an apply creates");
    t.equal((await server.call("DELETE", `${widgets}/new`)).code, 200);
    t.equal((await server.call("DELETE", `${definitions}/${name}`)).json.metadata.deletionGracePeriodSeconds, 0);
    await server.call("PATCH", `${widgets}/held`, { metadata: { finalizers: null } }, merge);
    t.ok(await goneFrom(server, name));
    const seen = events((await watch).text);
    // Both deletes are under way at once.
    t.strictSame(seen.slice(0, 3).sort(), ["ADDED free", "DELETED free", "MODIFIED held"]);
    t.strictSame(seen.slice(3), ["ADDED new", "DELETED new", "DELETED held"], "and then the watch ends");
    t.equal((await server.call("GET", widgets)).text, "404 page not found\n");
    t.strictSame([logsOf(server), reports], [[], []]);
    const again = await server.call("POST", definitions, definition("widgets", "Widget"));
    t.equal(again.code, 201);
    t.ok(await establishedIn(server, name));
    t.strictSame((await server.call("GET", widgets)).json.items, [], "it begins empty");
    t.equal((await server.call("POST", widgets, widget("free"))).code, 201);
  },
);

running("many objects are deleted in pages, and a kind is emptied in all namespaces", async (t, server, reports) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "other" } });
  const count = limits.definitionPageMax + 20;
  for (let at = 0; at < count; at += 1) {
    await server.call("POST", at % 2 === 0 ? widgets : widgets.replace("default", "other"), widget(`w${at}`));
  }
  await server.call("DELETE", `${definitions}/${name}`);
  t.ok(await goneFrom(server, name, 20_000));
  const removed = server.store.changes.filter(
    ({ type, prefix }) => type === changeTypes.delete && prefix.endsWith("/widgets"),
  );
  t.equal(removed.length, count);
  t.strictSame([logsOf(server), reports], [[], []]);
});

running("an object whose delete is refused is told in a condition, and tried again", async (t, server, reports) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", widgets, widget("a"));
  server.store.before = ({ type, prefix }) =>
    type === changeTypes.delete && prefix.endsWith("/widgets") ? { refused: "full", message: "test" } : undefined;
  await server.call("DELETE", `${definitions}/${name}`);
  t.ok(await told(server, name, "Terminating True InstanceDeletionFailed"));
  t.match(reports, [/objects of definition widgets\.example\.com cannot be deleted/]);
  server.store.before = undefined;
  t.ok(await goneFrom(server, name));
});

running("objects that stay longer than a minute are told, and the wait goes on", async (t, server) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", widgets, widget("held", ["x.example.com/y"]));
  await server.call("DELETE", `${definitions}/${name}`);
  t.ok(await told(server, name, "Terminating True InstanceDeletionInProgress"));
  server.aheadMs = limits.definitionEmptyMsMax;
  await server.call("PATCH", `${definitions}/${name}`, { metadata: { labels: { l: "1" } } }, merge);
  t.ok(await told(server, name, "Terminating True InstanceDeletionCheck"));
  await server.call("PATCH", `${widgets}/held`, { metadata: { finalizers: null } }, merge);
  t.ok(await goneFrom(server, name));
});

running("a definition that others hold serves nothing any more once it was emptied", async (t, server) => {
  await server.call(
    "POST",
    definitions,
    definition("widgets", "Widget", "example.com", {}, { finalizers: ["x.io/y"] }),
  );
  t.ok(await establishedIn(server, name));
  await server.call("POST", widgets, widget("a"));
  await server.call("DELETE", `${definitions}/${name}`);
  t.ok(await told(server, name, "Terminating False InstanceDeletionCompleted"));
  t.equal((await server.call("GET", widgets)).code, 404);
  t.equal((await server.call("POST", widgets, widget("b"))).code, 404);
  t.strictSame(logsOf(server), []);
  await server.call("PATCH", `${definitions}/${name}`, { metadata: { finalizers: null } }, merge);
  t.ok(await goneFrom(server, name));
});

running("a definition that was never established goes at once", async (t, server) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", definitions, definition("ones", "Widget"));
  t.ok(await told(server, "ones.example.com", "Established False NotAccepted"));
  await server.call("DELETE", `${definitions}/ones.example.com`);
  t.ok(await goneFrom(server, "ones.example.com"));
  t.equal((await server.call("GET", widgets)).code, 200);
});

running("a definition whose finalizer is taken away leaves its objects to the next one", async (t, server) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", widgets, widget("held", ["x.example.com/y"]));
  await server.call("DELETE", `${definitions}/${name}`);
  t.ok(await told(server, name, "Terminating True InstanceDeletionInProgress"));
  await server.call("PATCH", `${definitions}/${name}`, { metadata: { finalizers: null } }, merge);
  t.ok(await goneFrom(server, name));
  t.equal((await server.call("GET", widgets)).code, 404);
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  t.equal((await server.call("GET", widgets)).json.items.length, 1);
});

running("a deletecollection of definitions empties their kinds, too", async (t, server) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", widgets, widget("a"));
  t.equal((await server.call("DELETE", definitions)).code, 200);
  t.ok(await goneFrom(server, name));
  t.strictSame(logsOf(server), []);
});

running(
  "a definition for which there is no log says so, and is served when another one goes",
  async (t, server, reports) => {
    const free = limits.logCountMax - server.logStats().logs.length - 1;
    for (let at = 0; at < free; at += 1) await server.views.register(`/registry/filler/${at}`);
    await server.call("POST", definitions, definition("widgets", "Widget"));
    t.ok(await establishedIn(server, name));
    await server.call("POST", definitions, definition("ones", "One"));
    t.ok(await told(server, "ones.example.com", "Established False TooManyKinds"));
    const { status } = (await server.call("GET", `${definitions}/ones.example.com`)).json;
    const message = "the server keeps at most 4096 kinds; this one is served when another one is gone";
    t.equal(status.conditions[1].message, message);
    await server.call("DELETE", `${definitions}/${name}`);
    t.ok(await goneFrom(server, name));
    t.ok(
      await until(
        async () => (await conditionsOf(server, "ones.example.com")).includes("Established True InitialNamesAccepted"),
        20_000,
      ),
    );
    t.strictSame(reports, []);
  },
);

running("writes that were resolved before their kind went are refused, and make no log", async (t, server) => {
  for (let round = 0; round < 20; round += 1) {
    await server.call("POST", definitions, definition("widgets", "Widget"));
    t.ok(await establishedIn(server, name));
    // Each create waits at the store until the definition is gone.
    const waiting: (() => void)[] = [];
    server.store.before = ({ type, prefix }) => {
      if (type !== changeTypes.create || !prefix.endsWith("/widgets")) return undefined;
      return new Promise((resolve) => waiting.push(() => resolve(undefined)));
    };
    const late = Array.from({ length: 5 }, (_, at) => server.call("POST", widgets, widget(`late-${at}`)));
    t.ok(await until(() => waiting.length === late.length));
    await server.call("DELETE", `${definitions}/${name}`);
    if (round % 2 === 0) t.ok(await goneFrom(server, name));
    for (const resume of waiting) resume();
    for (const answer of await Promise.all(late)) {
      if (answer.code === 201 && round % 2 === 1) continue;
      t.match(answer.json, { reason: "NotFound", message: "the server could not find the requested resource" });
    }
    server.store.before = undefined;
    t.ok(await goneFrom(server, name));
    t.strictSame(logsOf(server), []);
  }
});

running(
  "a write that removes the last object of a kind that goes is answered, although its log is gone",
  async (t, server) => {
    for (const method of ["PATCH", "DELETE"]) {
      await server.call("POST", definitions, definition("widgets", "Widget"));
      t.ok(await establishedIn(server, name));
      const finalizers = method === "PATCH" ? ["x.example.com/y"] : undefined;
      await server.call("POST", widgets, widget("last", finalizers));
      let removed = (): Promise<unknown> => server.call("DELETE", `${definitions}/${name}`);
      if (method === "PATCH") {
        await removed();
        t.ok(await told(server, name, "Terminating True InstanceDeletionInProgress"));
        removed = () => Promise.resolve();
      }
      // The acknowledgement comes when the definition is gone.
      server.store.before = async (change) => {
        if (change.type !== changeTypes.delete || !change.prefix.endsWith("/widgets")) return undefined;
        server.store.before = undefined;
        const outcome = server.store.apply(change);
        await removed();
        await goneFrom(server, name);
        return outcome;
      };
      const body = method === "PATCH" ? { metadata: { finalizers: null } } : undefined;
      const last = await server.call(method, `${widgets}/last`, body, method === "PATCH" ? merge : {});
      t.equal(last.code, 200, last.text);
    }
  },
);

running("a namespace goes while the log of a kind is gone already", async (t, server, reports) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, name));
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  t.equal(await server.views.giveUp("/registry/example.com/widgets"), true);
  t.equal((await server.call("GET", widgets)).code, 404);
  const namespaces = reconcilerOf(new NamespaceController(server.server), server.server.clock, (message) =>
    reports.push(message),
  );
  namespaces.start();
  await server.call("DELETE", "/api/v1/namespaces/n");
  t.ok(await until(async () => (await server.call("GET", "/api/v1/namespaces/n")).code === 404));
  await namespaces.stop();
  t.strictSame(reports, []);
});

running("500 definitions are made and removed, and leave nothing", async (t, server, reports) => {
  const before = server.logStats().logs.length;
  const all = Array.from({ length: 500 }, (_, at) => [`k${at}`, `g${at % 7}.example.com`] as const);
  const paths = all.map(([plural, group]) => `${plural}.${group}`);
  for (const [plural, group] of all) {
    const made = await server.call("POST", definitions, definition(plural, plural.toUpperCase(), group));
    if (made.code !== 201) t.fail(made.text);
  }
  for (const path of paths) if (!(await establishedIn(server, path))) t.fail(`${path} is not established`);
  t.equal(server.logStats().logs.length, before + 500);
  await Promise.all(paths.map((path) => server.call("DELETE", `${definitions}/${path}`)));
  t.ok(await until(async () => (await server.call("GET", definitions)).json.items.length === 0, 30_000));
  t.ok(await until(() => server.logStats().logs.length === before));
  t.strictSame(
    (await server.call("GET", "/apis")).json.groups.filter(({ name }: { name: string }) =>
      name.endsWith("example.com"),
    ),
    [],
  );
  t.strictSame(reports, []);
});
