import t from "tap";
import { created, kind, updated } from "../written.ts";

t.test("Nodes keep the status they register with, and one range twice", (t) => {
  const nodes = kind("", "v1", "nodes");
  const node = created(nodes, { spec: { podCIDR: "10.0.0.0/24" }, status: { phase: "Running" } });
  t.hasStrict(node, { spec: { podCIDRs: ["10.0.0.0/24"] }, status: { phase: "Running" } });
  const both = { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] };
  t.hasStrict(updated(nodes, { spec: both }, { spec: both }), { spec: both });
  t.end();
});
