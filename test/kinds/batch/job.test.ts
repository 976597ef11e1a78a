import t from "tap";
import type { ApiObject } from "../../../src/api/object.ts";
import { dump, load } from "../load.ts";
import { type Json, kind } from "../written.ts";

t.test("Jobs select their pods by uid unless told otherwise", (t) => {
  const { resource, strategy, context } = kind("batch", "v1", "jobs");
  const job = (manualSelector: boolean) => {
    const annotations = { "batch.kubernetes.io/job-tracking": "" };
    const object = load<ApiObject>(resource.message.name, {
      metadata: { name: "j", uid: "u", annotations },
      spec: { manualSelector },
    });
    strategy.prepareForCreate(context, object);
    strategy.validate(context, object);
    return dump(object) as Json;
  };
  t.hasStrict(job(false), {
    spec: {
      selector: { matchLabels: { "controller-uid": "u" } },
      template: { metadata: { labels: { "controller-uid": "u", "job-name": "j" } } },
    },
  });
  t.strictSame((job(false)["metadata"] as Json)["annotations"], {});
  t.notOk((job(true)["spec"] as Json)["selector"]);
  t.end();
});
