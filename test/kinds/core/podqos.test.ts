import t from "tap";
import { qosClass } from "../../../src/kinds/core/podqos.ts";
import { load } from "../load.ts";

t.test("qosClass() follows requests and limits of all containers", (t) => {
  const of = (...containers: object[]) =>
    load<{ spec: { containers: [] } }>("core/v1.Pod", { spec: { containers } }).spec;
  const box = (requests?: object, limits?: object) => ({ name: "c", resources: { requests, limits } });
  const full = { cpu: "1", memory: "1Gi" };
  const cases: readonly [why: string, containers: object[], expected: string][] = [
    ["nothing asked", [box()], "BestEffort"],
    ["zero asked", [box({ cpu: "0" })], "BestEffort"],
    ["something else asked", [box({ "example.com/gpu": "1" })], "BestEffort"],
    ["limits without requests", [box(undefined, full)], "Burstable"],
    ["the same in another unit", [box({ cpu: "1000m", memory: "1Gi" }, full)], "Guaranteed"],
    ["one container without limits", [box(full, full), box()], "Burstable"],
    ["less asked than allowed", [box({ cpu: "500m", memory: "1Gi" }, full)], "Burstable"],
  ];
  for (const [why, containers, expected] of cases) t.equal(qosClass(of(...containers)), expected, why);
  t.end();
});
