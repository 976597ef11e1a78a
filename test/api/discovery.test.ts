// Discovery against what upstream answered (where the shared transcripts are), and against its own rules.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { aggregatedDiscovery, aggregatedVersionOf, discoveryDocument } from "../../src/api/discovery.ts";
import { identities } from "../../src/api/identity.ts";
import { createScheme } from "../../src/api/scheme.ts";

const kubernetes = createScheme({ identity: identities.kubernetes });
const orch = createScheme({ identity: identities.orch });

interface Step {
  path: string;
  headers?: Record<string, string>;
  pick?: string[];
  expect: { status: number; json?: unknown };
}

const dir = "../shared/transcripts/scenarios";
const recorded = ["010-discovery-roots", "011-discovery-groups", "012-discovery-resources"];

/** Recorded answers hold placeholders where values differ from run to run. */
function masked(body: string): string {
  return body
    .replaceAll(/"serverAddress":"[^"]*"/g, '"serverAddress":"<addr>"')
    .replaceAll(/"storageVersionHash":"[^"]*"/g, '"storageVersionHash":"<hash>"');
}

for (const name of recorded) {
  const path = join(dir, `${name}.json`);
  if (!existsSync(path)) continue;
  const { steps } = JSON.parse(readFileSync(path, "utf8")) as { steps: Step[] };
  for (const step of steps) {
    if (!/^\/apis?(?:\/|$)/.test(step.path) || step.headers !== undefined) continue;
    t.test(`discoveryDocument() answers ${step.path} as upstream`, async (t) => {
      const document = discoveryDocument(kubernetes, step.path.replace(/(.)\/$/, "$1"), "127.0.0.1:6443");
      if (step.expect.status !== 200) return void t.equal(document, undefined);
      t.equal(masked(document?.body ?? ""), `${JSON.stringify(step.expect.json)}\n`);
    });
  }
}

t.test("discoveryDocument() lists what is served in the identity's names", async (t) => {
  const groups = discoveryDocument(orch, "/apis", "")?.body ?? "";
  t.match(groups, '"rbac.authorization.orch.io/v1"');
  t.notMatch(groups, "k8s.io");
  t.equal(discoveryDocument(orch, "/apis/internal.apiserver.orch.io", ""), undefined, "alpha is off");
  t.equal(discoveryDocument(orch, "/apis/__proto__", ""), undefined);
  t.match(discoveryDocument(orch, "/api/v1", "")?.etag, /^"[0-9A-F]{32}"$/);
});

t.test("aggregatedDiscovery() holds every resource of every group", async (t) => {
  const document = aggregatedDiscovery(kubernetes, "/apis", "v2");
  interface List {
    apiVersion: string;
    items: { metadata: { name?: string }; versions: { version: string; resources: { resource: string }[] }[] }[];
  }
  const list = JSON.parse(document?.body ?? "{}") as List;
  t.equal(list.apiVersion, "apidiscovery.k8s.io/v2");
  const core = JSON.parse(aggregatedDiscovery(kubernetes, "/api", "v2")?.body ?? "{}") as List;
  const count = [...list.items, ...core.items].flatMap((item) => item.versions).flatMap((v) => v.resources).length;
  t.equal(count, kubernetes.resources.length);
  t.equal(aggregatedDiscovery(kubernetes, "/apis/apps", "v2"), undefined);
});

const accepts: readonly (readonly [accept: string | undefined, expected: string | undefined])[] = [
  [undefined, undefined],
  ["*/*", undefined],
  ["application/json", undefined],
  ["application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json", "v2"],
  ["application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json", undefined],
  ["application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", "v2beta1"],
  ["application/json, application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", undefined],
];

for (const [accept, expected] of accepts) {
  t.test(`aggregatedVersionOf() reads ${accept}`, async (t) => {
    t.equal(aggregatedVersionOf(kubernetes, accept), expected);
  });
}
