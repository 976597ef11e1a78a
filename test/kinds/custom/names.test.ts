// Which names a definition gets: rows of what its group has accepted, what it has accepted itself, what it asks for, and
// what becomes of that, as upstream (v1.23) answers.
import t from "tap";
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from "../../../src/api/gen/apiextensions/v1.ts";
import { identities } from "../../../src/api/identity.ts";
import {
  approvalCondition,
  decideNames,
  established,
  notAccepted,
  sameNames,
  says,
  usedNames,
  withCondition,
} from "../../../src/kinds/custom/names.ts";
import { groupOfDefinition, prefixOfDefinition } from "../../../src/kinds/custom/prefix.ts";

/** `plural singular short,short Kind ListKind`; a dash is nothing. */
function names(text: string): CustomResourceDefinitionNames {
  const [plural = "", singular = "", shorts = "", kind = "", listKind = ""] = text
    .split(" ")
    .map((word) => (word === "-" ? "" : word));
  return {
    plural,
    kind,
    ...(singular === "" ? {} : { singular }),
    ...(shorts === "" ? {} : { shortNames: shorts.split(",") }),
    ...(listKind === "" ? {} : { listKind }),
  };
}

function textOf({ plural, singular, shortNames, kind, listKind }: CustomResourceDefinitionNames): string {
  return [plural, singular, shortNames?.join(","), kind, listKind].map((word) => word || "-").join(" ");
}

function definition(
  asked: string,
  accepted: string,
  annotation?: string,
  group = "example.com",
): CustomResourceDefinition {
  const annotations = annotation === undefined ? new Map() : new Map([["api-approved.kubernetes.io", annotation]]);
  return {
    metadata: { name: `x.${group}`, annotations },
    spec: { group, names: names(asked), scope: "Namespaced" },
    status: { acceptedNames: names(accepted) },
  } as CustomResourceDefinition;
}

const widgets = "widgets widget wd,wg Widget WidgetList";
const nothing = "- - - - -";

const rows: readonly (readonly [asked: string, own: string, others: string, accepted: string, verdict: string])[] = [
  [widgets, nothing, nothing, widgets, "NoConflicts: no conflicts found"],
  [widgets, widgets, nothing, widgets, "NoConflicts: no conflicts found"],
  [
    "one onesing - Widget OneList",
    nothing,
    widgets,
    "one onesing - - OneList",
    'KindConflict: "Widget" is already in use',
  ],
  ["two two - Two WidgetList", nothing, widgets, "two two - Two -", 'ListKindConflict: "WidgetList" is already in use'],
  [
    "three widgets - Three ThreeList",
    nothing,
    widgets,
    "three - - Three ThreeList",
    'SingularConflict: "widgets" is already in use',
  ],
  [
    "four four f,wd Four FourList",
    nothing,
    widgets,
    "four four - Four FourList",
    'ShortNamesConflict: "wd" is already in use',
  ],
  [
    "widget five - Five FiveList",
    nothing,
    widgets,
    "- five - Five FiveList",
    'PluralConflict: "widget" is already in use',
  ],
  [
    "six widget widgets WidgetList Widget",
    nothing,
    widgets,
    "six - - - -",
    'ListKindConflict: "Widget" is already in use',
  ],
  [
    "bs b wg,widget,wg B BList",
    nothing,
    widgets,
    "bs b - B BList",
    'ShortNamesConflict: ["wg" is already in use, "widget" is already in use]',
  ],
  [
    "two two wd Two TwoList",
    "two two - Two TwoList",
    widgets,
    "two two - Two TwoList",
    'ShortNamesConflict: "wd" is already in use',
  ],
  [
    "two two tw Two TwoList",
    "two two t Two TwoList",
    widgets,
    "two two tw Two TwoList",
    "NoConflicts: no conflicts found",
  ],
  [
    "two two t,wd Two Two2",
    "two two t Two TwoList",
    widgets,
    "two two t Two Two2",
    'ShortNamesConflict: "wd" is already in use',
  ],
  [
    "two two - Two TwoList",
    "two two t Two TwoList",
    widgets,
    "two two - Two TwoList",
    "NoConflicts: no conflicts found",
  ],
  [
    "two other - Two TwoList",
    "two two - Two TwoList",
    nothing,
    "two other - Two TwoList",
    "NoConflicts: no conflicts found",
  ],
  ["as as x,x,as A AList", nothing, nothing, "as as x,x,as A AList", "NoConflicts: no conflicts found"],
  ["as as x A A", "as as x A AList", nothing, "as as x A AList", 'ListKindConflict: "A" is already in use'],
];

for (const [asked, own, others, accepted, verdict] of rows) {
  t.test(`decideNames() of ${asked} beside ${others}, with ${own} before`, (t) => {
    const one = definition(asked, own);
    const decision = decideNames(one, usedNames([one, definition(others, others)]));
    t.equal(textOf(decision.accepted), accepted);
    t.equal(`${decision.condition.reason}: ${decision.condition.message}`, verdict);
    t.equal(decision.condition.status, verdict.startsWith("NoConflicts") ? "True" : "False");
    t.end();
  });
}

t.test("sameNames() takes nothing and an empty list for the same", (t) => {
  t.ok(sameNames(names(widgets), { ...names(widgets), categories: [] }));
  t.notOk(sameNames(names(widgets), { ...names(widgets), categories: ["all"] }));
  t.notOk(sameNames(names("a b c,d E F"), names("a b d,c E F")));
  t.end();
});

t.test("withCondition() keeps the place of a condition, and its time while its status stays", (t) => {
  const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
  const first = withCondition([], notAccepted, early);
  const told = { ...notAccepted, message: "other" };
  t.strictSame(withCondition(first, told, late), [{ ...told, lastTransitionTime: early }]);
  const two = withCondition(first, { ...told, type: "Terminating" }, late);
  t.strictSame(
    withCondition(two, established, late).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]),
    [
      ["Established", late],
      ["Terminating", late],
    ],
  );
  t.ok(says(first, notAccepted));
  t.notOk(says(first, told));
  t.notOk(says(undefined, told));
  t.end();
});

const see = "see https://github.com/kubernetes/enhancements/pull/1111";
const approvals: readonly (readonly [group: string, annotation: string | undefined, verdict: string | undefined])[] = [
  ["example.com", undefined, undefined],
  ["notk8s.io", undefined, undefined],
  [
    "x.k8s.io",
    undefined,
    `False MissingAnnotation protected groups must have approval annotation "api-approved.kubernetes.io", ${see}`,
  ],
  [
    "k8s.io",
    "I approve",
    `False InvalidAnnotation protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", ${see}`,
  ],
  [
    "kubernetes.io",
    "://x",
    `False InvalidAnnotation protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", ${see}`,
  ],
  ["x.kubernetes.io", "unapproved, mine", 'False UnapprovedAnnotation not approved: "unapproved, mine"'],
  ["x.k8s.io", "https://github.com/x/pull/1", "True ApprovedAnnotation approved in https://github.com/x/pull/1"],
];

for (const [group, annotation, verdict] of approvals) {
  t.test(`approvalCondition() of ${group} with ${annotation}`, (t) => {
    const found = approvalCondition(definition(widgets, nothing, annotation, group), identities.kubernetes);
    t.equal(found && `${found.status} ${found.reason} ${found.message}`, verdict);
    t.end();
  });
}

t.test("approvalCondition() is spelled in the identity", (t) => {
  const one = definition(widgets, nothing, undefined, "x.orch.io");
  t.match(approvalCondition(one, identities.orch)?.message, /"api-approved\.orch\.io"/);
  t.equal(approvalCondition(one, identities.kubernetes), undefined);
  t.end();
});

t.test("a definition's name says where its objects are", (t) => {
  t.equal(prefixOfDefinition("widgets.some.example.com"), "/registry/some.example.com/widgets");
  t.equal(groupOfDefinition("widgets.some.example.com"), "some.example.com");
  t.end();
});
