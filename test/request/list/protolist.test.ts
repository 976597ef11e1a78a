// How long a list in protobuf works in one turn.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme, type Resource } from "../../../src/api/scheme.ts";
import { assert } from "../../../src/base/assert.ts";
import { ProtoList } from "../../../src/request/list/protolist.ts";
import { FakeLog } from "../../support/fakelog.ts";

const identity = identities.kubernetes;
const leases = createScheme({ identity }).find("coordination.k8s.io", "v1", "leases");

/** Turns in which 64 items are measured, where the time of each is over at its second or third look at the clock. */
function turns(resource: Resource, padding: number): number {
  const view = new FakeLog(`/registry/${resource.resource}`);
  for (let n = 0; n < 64; n += 1) view.put({ namespace: "default", name: `item-${n}`, padding });
  view.drain();
  const items = Array.from({ length: 64 }, (_, n) => n + 1);
  const input = { resource, identity, view, namespace: "", aborted: () => false };
  const list = new ProtoList(input, { view, items, metadata: {}, isPast: false }, undefined, view.hold());
  const { now } = performance;
  let looks = 0;
  performance.now = () => (looks++ < 2 ? 0 : 1_000);
  try {
    let count = 1;
    while (list.measure()) {
      looks = 0;
      count += 1;
      assert(count < 1_000, "Each turn measures something");
    }
    return count;
  } finally {
    performance.now = now;
  }
}

t.test("ProtoList looks at the clock after 16 items, 64 KiB, or each item that is not encoded as it is stored", (t) => {
  assert(leases !== undefined, "Leases are served");
  t.ok(turns(leases, 10) <= 5);
  const large = turns(leases, 40_000);
  t.ok(large >= 16 && large <= 33, `${large} turns of 40 kB items`);
  const dear = turns({ ...leases, redefined: true }, 10);
  t.ok(dear >= 30, `${dear} turns of items that may be reshaped`);
  t.end();
});
