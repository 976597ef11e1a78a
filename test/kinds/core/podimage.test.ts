import t from "tap";
import { imagePullPolicy } from "../../../src/kinds/core/podimage.ts";

t.test("imagePullPolicy() is Always for latest, said or implied", (t) => {
  const digest = `sha256:${"0".repeat(64)}`;
  const cases: readonly [image: string, policy: string][] = [
    ["busybox", "Always"],
    ["busybox:latest", "Always"],
    ["busybox:1", "IfNotPresent"],
    ["a/b/c", "Always"],
    ["registry.example:5000/a", "Always"],
    ["registry.example:5000/a:2", "IfNotPresent"],
    ["localhost/a", "Always"],
    [`a@${digest}`, "IfNotPresent"],
    [`a:latest@${digest}`, "Always"],
    ["", "IfNotPresent"],
    ["UPPER", "IfNotPresent"],
    ["a b", "IfNotPresent"],
    ["0".repeat(64), "IfNotPresent"],
    ["a:", "IfNotPresent"],
    ["x".repeat(5000), "IfNotPresent"],
  ];
  for (const [image, policy] of cases) t.equal(imagePullPolicy(image), policy, image.slice(0, 40));
  t.end();
});
