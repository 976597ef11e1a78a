import t from "tap";
import { defaultGates, gates, readGates } from "../../src/config/gates.ts";

function on(name: string, wishes: Record<string, boolean>): boolean | string {
  const read = readGates(new Map(Object.entries(wishes)));
  return typeof read === "string" ? read : read.on.has(name);
}

t.test("readGates() switches gates by their name and by their stage", (t) => {
  const cases: readonly (readonly [gate: string, wishes: Record<string, boolean>, want: boolean | string])[] = [
    ["APIListChunking", {}, true],
    ["APIListChunking", { APIListChunking: false }, false],
    ["IdentifyPodOS", {}, false],
    ["IdentifyPodOS", { IdentifyPodOS: true }, true],
    ["IdentifyPodOS", { AllAlpha: true }, true],
    ["IdentifyPodOS", { AllAlpha: true, IdentifyPodOS: false }, false],
    ["IdentifyPodOS", { AllBeta: true }, false],
    ["TopologyAwareHints", { AllBeta: true }, true],
    ["CSRDuration", { AllBeta: false }, false],
    ["CSRDuration", { CSRDuration: true, AllBeta: false }, true],
    ["ServerSideApply", { AllBeta: false, AllAlpha: false }, true],
    ["ServerSideApply", { ServerSideApply: true }, true],
    ["x", { Nobody: true }, "unrecognized feature gate: Nobody"],
    ["x", { constructor: true }, "unrecognized feature gate: constructor"],
    ["x", { DryRun: false }, "cannot set feature gate DryRun to false, feature is locked to true"],
  ];
  for (const [gate, wishes, want] of cases) t.equal(on(gate, wishes), want, JSON.stringify(wishes));
  t.end();
});

t.test("readGates() tells of gates that are on their way out", (t) => {
  const read = readGates(new Map(Object.entries({ DryRun: true, DynamicKubeletConfig: true, APIListChunking: true })));
  t.strictSame(typeof read === "string" ? read : read.notes, [
    "Setting GA feature gate DryRun=true. It will be removed in a future release.",
    "Setting deprecated feature gate DynamicKubeletConfig=true. It will be removed in a future release.",
  ]);
  t.end();
});

t.test("the gates of the document have the stage it gives them", (t) => {
  const beta = ["APIListChunking", "APIPriorityAndFairness", "RemainingItemCount", "EfficientWatchResumption"];
  for (const name of [...beta, "CSRDuration", "RemoveSelfLink", "PodSecurity"]) {
    t.equal(gates.get(name)?.stage, "Beta", name);
    t.ok(defaultGates.has(name), name);
  }
  const ga = ["WatchBookmark", "DryRun", "ServerSideApply", "WarningHeaders", "TokenRequest", "RootCAConfigMap"];
  for (const name of [...ga, "BoundServiceAccountTokenVolume", "NamespaceDefaultLabelName"]) {
    t.equal(gates.get(name)?.stage, "GA", name);
  }
  t.equal(gates.get("IdentifyPodOS")?.stage, "Alpha");
  t.end();
});
