import t from "tap";
import { createLog } from "../../src/observe/log.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import { createObserver, type RequestRecord } from "../../src/observe/requests.ts";

const record: RequestRecord = {
  id: "1",
  user: "u",
  method: "POST",
  verb: "POST",
  path: "/api/v1/namespaces/default/pods",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  scope: "namespace",
  dropped: false,
  dryRun: false,
  annotations: undefined,
  code: 429,
  bytes: 10,
  durationMs: 1,
  agent: "a",
  remote: "r",
  timing: undefined,
  sentBytes: 10,
  stages: undefined,
};

t.test("createObserver() counts requests that were refused because there were too many", (t) => {
  const registry = new Registry();
  const observer = createObserver(registry, createLog("fatal", "test"));
  observer.finished("mutating", record);
  observer.finished("mutating", { ...record, dropped: true });
  const text = exposition([registry.snapshot()]);
  const where = 'group="",resource="pods",scope="namespace",subresource="",verb="POST",version="v1"';
  t.match(text, 'apiserver_dropped_requests_total{request_kind="mutating"} 1\n');
  t.match(text, `apiserver_request_terminations_total{code="429",component="apiserver",${where}} 1\n`);
  t.match(text, `apiserver_request_total{code="429",component="apiserver",dry_run="",${where}} 2\n`);
  t.end();
});

t.test("createObserver() tells of deprecated versions once, whichever threads served them", (t) => {
  const threads = [1, 2].map(() => {
    const registry = new Registry();
    createObserver(registry, createLog("fatal", "test")).deprecated(
      "policy",
      "v1beta1",
      "podsecuritypolicies",
      "",
      "1.25",
    );
    return registry.snapshot();
  });
  t.match(exposition(threads), /^apiserver_requested_deprecated_apis\{[^}]*\} 1$/m);
  t.end();
});
