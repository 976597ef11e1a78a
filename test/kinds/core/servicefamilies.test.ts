import t from "tap";
import type { Service } from "../../../src/api/gen/core/v1.ts";
import { settleFamilies } from "../../../src/kinds/core/servicefamilies.ts";

const single = ["IPv4"];
const dual = ["IPv4", "IPv6"];
const both = "IPv4,IPv6";

t.test("settleFamilies() completes what the client said by what the cluster offers", (t) => {
  const table: [spec: Partial<Service["spec"]>, cluster: string[], want: string][] = [
    [{}, single, "SingleStack IPv4"],
    [{}, dual, "SingleStack IPv4"],
    [{}, ["IPv6", "IPv4"], "SingleStack IPv6"],
    [{ ipFamilies: ["IPv6"] }, dual, "SingleStack IPv6"],
    [{ clusterIPs: ["fd00::1"] }, dual, "SingleStack IPv6"],
    [{ clusterIPs: ["10.0.0.1", "fd00::1"] }, dual, `RequireDualStack ${both}`],
    [{ ipFamilyPolicy: "PreferDualStack" }, single, "PreferDualStack IPv4"],
    [{ ipFamilyPolicy: "PreferDualStack" }, dual, `PreferDualStack ${both}`],
    [{ ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv6"] }, dual, "RequireDualStack IPv6,IPv4"],
    [{ ipFamilyPolicy: "RequireDualStack" }, single, "spec.ipFamilyPolicy"],
    [{ ipFamilies: ["IPv4", "IPv6"] }, single, "spec.ipFamilyPolicy spec.ipFamilies[1]"],
    [{ ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4", "IPv6"] }, dual, "spec.ipFamilyPolicy"],
    [{ clusterIPs: ["None"] }, single, `RequireDualStack ${both}`],
    [{ clusterIPs: ["None"], ipFamilyPolicy: "SingleStack" }, single, "SingleStack IPv4"],
    [{ clusterIPs: ["None"], selector: new Map([["a", "b"]]) }, single, "SingleStack IPv4"],
    [{ type: "ExternalName" }, single, "undefined undefined"],
  ];
  for (const [spec, cluster, want] of table) {
    const service: Service = { metadata: {}, spec, status: { loadBalancer: {} } };
    const errors = settleFamilies(service, cluster);
    const { ipFamilyPolicy, ipFamilies } = service.spec;
    const got = errors.length > 0 ? errors.map(({ field }) => field).join(" ") : `${ipFamilyPolicy} ${ipFamilies}`;
    t.equal(got, want, JSON.stringify(spec));
  }
  t.end();
});
