import t from "tap";
import { created, kind, now, updated } from "../written.ts";

t.test("Signing requests say who asked, whatever they claim", (t) => {
  const requests = kind("certificates.k8s.io", "v1", "certificatesigningrequests");
  const request = created(requests, {
    spec: { username: "root", groups: ["system:masters"] },
    status: { certificate: "eA==" },
  });
  t.hasStrict(request, { spec: { username: "mallory", uid: "7", groups: ["devs"], extra: { scope: ["a", "b"] } } });
  t.strictSame(request["status"], {});
  t.end();
});

t.test("Decisions on signing requests come through approval only, with times filled in", (t) => {
  const requests = kind("certificates.k8s.io", "v1", "certificatesigningrequests");
  const approved = { type: "Approved", status: "True" };
  const stored = {
    ...approved,
    reason: "Stored",
    lastUpdateTime: "2020-01-01T00:00:00Z",
    lastTransitionTime: "2020-01-01T00:00:00Z",
  };
  const old = { status: { conditions: [stored] } };
  const kept = updated(
    requests,
    { status: { certificate: "eA==", conditions: [{ ...approved, reason: "Other" }] } },
    old,
    "status",
  );
  t.strictSame(kept["status"], { certificate: "eA==", conditions: [stored] });
  const decided = updated(requests, { status: { certificate: "eA==", conditions: [approved] } }, {}, "approval");
  t.strictSame(decided["status"], { conditions: [{ ...approved, lastUpdateTime: now, lastTransitionTime: now }] });
  t.end();
});
