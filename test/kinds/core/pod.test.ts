import t from "tap";
import type { ApiObject } from "../../../src/api/object.ts";
import { load } from "../load.ts";
import { created, type Json, kind, updated } from "../written.ts";

t.test("Pods start pending, in their class, with seccomp said both ways", (t) => {
  const pods = kind("", "v1", "pods");
  const pod = created(pods, {
    metadata: { name: "p", annotations: { "seccomp.security.alpha.kubernetes.io/pod": "runtime/default" } },
    spec: {
      os: { name: "linux" },
      serviceAccount: "s",
      containers: [
        {
          name: "c",
          image: "i",
          securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "p.json" }, procMount: "Unmasked" },
          livenessProbe: { grpc: { port: 1 }, terminationGracePeriodSeconds: 3 },
        },
      ],
    },
    status: { phase: "Running" },
  });
  t.strictSame(pod["status"], { phase: "Pending", qosClass: "BestEffort" });
  t.hasStrict(pod, {
    metadata: {
      annotations: {
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "container.seccomp.security.alpha.kubernetes.io/c": "localhost/p.json",
      },
    },
    spec: {
      serviceAccount: "s",
      serviceAccountName: "s",
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      containers: [{ securityContext: { procMount: "Default" }, livenessProbe: {} }],
    },
  });
  t.notOk((pod["spec"] as Json)["os"], "switched-off fields are dropped");
  t.end();
});

t.test("gracePeriod() waits only for pods that run", (t) => {
  const { strategy } = kind("", "v1", "pods");
  const grace = (spec: object, phase: string, requested?: number) =>
    strategy.gracePeriod?.(load<ApiObject>("core/v1.Pod", { spec, status: { phase } }), requested);
  const running = { nodeName: "n", terminationGracePeriodSeconds: 30 };
  t.equal(grace(running, "Running"), 30);
  t.equal(grace(running, "Running", 5), 5);
  t.equal(grace(running, "Running", 0), 0);
  t.equal(grace(running, "Running", -1), 1);
  t.equal(grace(running, "Succeeded", 5), 0);
  t.equal(grace({ terminationGracePeriodSeconds: 30 }, "Pending"), 0);
  t.end();
});

t.test("Status and ephemeral containers of pods change nothing else", (t) => {
  const pods = kind("", "v1", "pods");
  const old = {
    metadata: { name: "p", uid: "u", labels: { a: "b" } },
    spec: { nodeName: "n" },
    status: { phase: "Pending" },
  };
  const wish = {
    metadata: { name: "p", resourceVersion: "7", labels: { a: "c" }, ownerReferences: [{ kind: "X" }] },
    spec: { nodeName: "m", ephemeralContainers: [{ name: "d" }] },
    status: { phase: "Running", podIP: "10.0.0.1" },
  };
  const status = updated(pods, wish, old, "status");
  t.hasStrict(status, { spec: { nodeName: "n" }, status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }] } });
  t.hasStrict(status, { metadata: { labels: { a: "c" } } });
  t.notOk((status["metadata"] as Json)["ownerReferences"]);
  const ephemeral = updated(pods, wish, old, "ephemeralcontainers");
  t.hasStrict(ephemeral, {
    metadata: { uid: "u", labels: { a: "b" }, resourceVersion: "7" },
    status: { phase: "Pending" },
  });
  t.hasStrict(ephemeral, { spec: { nodeName: "n", ephemeralContainers: [{ name: "d" }] } });
  t.end();
});
