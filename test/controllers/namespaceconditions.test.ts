// What the conditions of a terminating namespace say, as one text per case.
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import { conditionsOf, emptyRemains, faultOf, type Remains } from "../../src/controllers/namespaceconditions.ts";

const [before, now] = ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"];

function remains(more: Partial<Remains>): Remains {
  return { ...emptyRemains(), ...more };
}

const cases: readonly (readonly [what: string, found: Partial<Remains>, differs: readonly string[]])[] = [
  ["nothing", {}, []],
  [
    "groups that say nothing, by their names",
    {
      undiscovered: new Map([
        ["z.example.com/v1", "the server could not find the requested resource"],
        ["a.example.com/v1", "the server is currently unable to handle the request"],
      ]),
    },
    [
      "NamespaceDeletionDiscoveryFailure DiscoveryFailed Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: a.example.com/v1: the server is currently unable to handle the request, z.example.com/v1: the server could not find the requested resource",
    ],
  ],
  [
    "a list of another group",
    { unread: ["g/v1: it is the list of another group version"] },
    [
      "NamespaceDeletionGroupVersionParsingFailure GroupVersionParsingFailed g/v1: it is the list of another group version",
    ],
  ],
  [
    "refusals",
    { refusals: ["second", "first"] },
    [
      "NamespaceDeletionContentFailure ContentDeletionFailed Failed to delete all resource types, 2 remaining: first, second",
    ],
  ],
  [
    "content and finalizers",
    {
      counts: new Map([
        ["secrets.", 1],
        ["configmaps.", 2],
        ["widgets.example.com", 7],
      ]),
      finalizers: new Map([
        ["b/x", 1],
        ["a/x", 3],
      ]),
    },
    [
      "NamespaceContentRemaining SomeResourcesRemain Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1 resource instances, widgets.example.com has 7 resource instances",
      "NamespaceFinalizersRemaining SomeFinalizersRemain Some content in the namespace has finalizers remaining: a/x in 3 resource instances, b/x in 1 resource instances",
    ],
  ],
];

const well = [
  "NamespaceDeletionDiscoveryFailure ResourcesDiscovered All resources successfully discovered",
  "NamespaceDeletionGroupVersionParsingFailure ParsedGroupVersions All legacy kube types successfully parsed",
  "NamespaceDeletionContentFailure ContentDeleted All content successfully deleted, may be waiting on finalization",
  "NamespaceContentRemaining ContentRemoved All content successfully removed",
  "NamespaceFinalizersRemaining ContentHasNoFinalizers All content-preserving finalizers finished",
];

t.test("conditionsOf() says what remains, in upstream's order and words", (t) => {
  for (const [what, found, differs] of cases) {
    const said = conditionsOf(remains(found), [], now);
    const texts = said.map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    const expected = well.map((text) => differs.find((other) => other.split(" ")[0] === text.split(" ")[0]) ?? text);
    t.strictSame(texts, expected, what);
    t.strictSame(
      said.map(({ status }) => status === "True"),
      expected.map((text) => !well.includes(text)),
      `${what}: status`,
    );
    t.equal(faultOf(remains(found)) === undefined, what === "nothing" || what.startsWith("content"), `${what}: fault`);
  }
  t.end();
});

t.test("conditionsOf() keeps what stays: times of a status, other conditions, and their order", (t) => {
  const other = { type: "Other", status: "True", lastTransitionTime: before };
  const first = conditionsOf(remains({ counts: new Map([["pods.", 2]]) }), [other], before);
  t.equal(first[0], other);
  const again = conditionsOf(remains({ counts: new Map([["pods.", 2]]) }), first, now);
  t.ok(
    again.every((condition, at) => condition === first[at]),
    "nothing is new",
  );
  const fewer = conditionsOf(remains({ counts: new Map([["pods.", 1]]) }), first, now);
  const [old, next] = [first, fewer].map((all) => all.find(({ type }) => type === "NamespaceContentRemaining"));
  t.match(next, { status: "True", lastTransitionTime: before, message: /pods\. has 1 / });
  t.not(old, next);
  const none = conditionsOf(remains({}), fewer, now);
  t.match(
    none.find(({ type }) => type === "NamespaceContentRemaining"),
    { status: "False", lastTransitionTime: now },
  );
  t.end();
});

t.test("conditionsOf() bounds what finalizers of users make of a message", (t) => {
  const finalizers = new Map(Array.from({ length: 10_000 }, (_, at) => [`example.com/${at}`, 1]));
  for (const { message = "" } of conditionsOf(remains({ finalizers }), [], now))
    t.ok(message.length <= limits.conditionMessageCharsMax);
  t.end();
});
