import { mock } from "node:test";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { messageOf } from "../../src/api/messages.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { isStatus, refuse, type Status } from "../../src/api/status.ts";
import { Fanout } from "../../src/cache/fanout/fanout.ts";
import { encode, Fault } from "../../src/codec/engine/json.ts";
import { decodeProto, openEnvelope } from "../../src/codec/proto/protobuf.ts";
import { limits } from "../../src/config/limits.ts";
import type { AskNewest } from "../../src/request/read/freshness.ts";
import type { ListOptions } from "../../src/request/route/listoptions.ts";
import { serveWatch } from "../../src/request/watch/watch.ts";
import { WatchBounds } from "../../src/request/watch/watchbounds.ts";
import type { WatchFormat } from "../../src/request/watch/watchforms.ts";
import { plainWatch, selectorOf } from "../support/fakefront.ts";
import { FakeLog } from "../support/fakelog.ts";
import { FakeSink } from "../support/fakesink.ts";

const identity = identities.orch;
const scheme = createScheme({ identity });

function resourceOf(group: string, version: string, resource: string): Resource {
  const found = scheme.find(identity.spell(group), version, resource);
  if (found === undefined) throw new Error(`${resource} is not served`);
  return found;
}

class Client {
  readonly sink = new FakeSink();
  readonly log = new FakeLog();
  readonly fanout = new Fanout();
  bounds = new WatchBounds();
  newest: AskNewest | undefined;
  over = 0;
  gone: () => void = () => undefined;

  watch(resource: Resource, options: Partial<ListOptions> = {}, format: WatchFormat = "json") {
    return serveWatch({
      fanout: this.fanout,
      bounds: this.bounds,
      owner: { name: "alice", level: "ordinary" },
      view: this.log,
      resource,
      format,
      identity,
      namespace: "",
      selector: selectorOf("", ""),
      options: { ...plainWatch, ...options },
      aborted: () => false,
      newest: this.newest,
      open: () => ({
        sink: this.sink,
        ended: () => {
          this.over += 1;
        },
      }),
      onAbort: (gone) => {
        this.gone = gone;
      },
    });
  }

  get objects(): unknown[] {
    return this.sink.text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }
}

t.test("serveWatch() marks the end of the initial state with an annotated bookmark of the kind", async (t) => {
  const client = new Client();
  client.log.put({ namespace: "n1", name: "a" });
  const options = { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: "NotOlderThan" };
  t.equal(await client.watch(resourceOf("", "v1", "pods"), options), undefined);
  t.equal(client.objects.length, 2);
  t.same(client.objects[1], {
    type: "BOOKMARK",
    object: {
      kind: "Pod",
      apiVersion: "v1",
      metadata: {
        resourceVersion: "101",
        creationTimestamp: null,
        annotations: { "orch.io/initial-events-end": "true" },
      },
      spec: { containers: null },
      status: {},
    },
  });
  client.gone();
  t.equal(client.over, 1);
  t.equal(client.fanout.watcherCount, 0);
});

/** Frames of protobuf: the events' types, and their objects as JSON. */
function framesOf(bytes: Buffer, resource: Resource): { type: string; object: unknown }[] {
  const frames: { type: string; object: unknown }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    // WatchEvent{ type: 1, object: 2 { raw: 1 } }, lengths below 128 but for the last two.
    const typeEnd = at + 6 + (bytes[at + 5] ?? 0);
    const envelope = openEnvelope(bytes.subarray(bytes.indexOf("k8s\0", typeEnd), end));
    if (envelope instanceof Fault) throw new Error(envelope.message);
    const message = envelope.kind === "Status" ? messageOf("meta/v1.Status") : resource.message;
    const object = decodeProto<object>(message, envelope.raw);
    if (object instanceof Fault) throw new Error(object.message);
    const { apiVersion, kind } = envelope;
    frames.push({
      type: bytes.toString("latin1", at + 6, typeEnd),
      object: JSON.parse(encode(message, Object.assign(object, { apiVersion, kind }))),
    });
    at = end;
  }
  return frames;
}

t.test("serveWatch() frames protobuf: the state, its end, changes and errors", async (t) => {
  const pods = resourceOf("", "v1", "pods");
  const client = new Client();
  client.log.put({ namespace: "n1", name: "a" });
  const options = { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: "NotOlderThan" };
  t.equal(await client.watch(pods, options, "protobuf"), undefined);
  client.log.delete({ namespace: "n1", name: "a" });
  client.log.news();
  await client.fanout.closeAll(1000);
  const frames = framesOf(Buffer.concat(client.sink.chunks), pods);
  t.match(frames, [
    { type: "ADDED", object: { kind: "Pod", apiVersion: "v1", metadata: { name: "a", resourceVersion: "101" } } },
    {
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: "101", annotations: { "orch.io/initial-events-end": "true" } } },
    },
    { type: "DELETED", object: { metadata: { name: "a", resourceVersion: "102" } } },
  ]);
  const old = new Client();
  t.equal(await old.watch(pods, { resourceVersion: "99" }, "protobuf"), undefined);
  t.match(framesOf(Buffer.concat(old.sink.chunks), pods), [{ type: "ERROR", object: { kind: "Status", code: 410 } }]);
});

t.test("serveWatch() ends with a plain bookmark of the kind when it closes", async (t) => {
  const client = new Client();
  await client.watch(resourceOf("coordination.k8s.io", "v1", "leases"), { allowWatchBookmarks: true });
  client.log.revision += 1;
  await client.fanout.closeAll(1000);
  t.ok(client.sink.ended);
  t.equal(client.over, 1);
  t.same(client.objects, [
    {
      type: "BOOKMARK",
      object: {
        kind: "Lease",
        apiVersion: "coordination.orch.io/v1",
        metadata: { resourceVersion: "101", creationTimestamp: null },
        spec: {},
      },
    },
  ]);
});

t.test(
  "serveWatch() refuses before it answers: bad versions, versions that do not come, too many watches",
  async (t) => {
    const pods = resourceOf("", "v1", "pods");
    const bad = await new Client().watch(pods, { resourceVersion: "abc" });
    t.ok(isStatus(bad) && bad.code === 400);
    const future = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", resourceVersion: "999999999" };
    const late = await new Client().watch(pods, future);
    t.match(late, {
      code: 504,
      reason: "Timeout",
      message: "Timeout: Too large resource version: 999999999, current: 100",
    });
    const crowded = new Client();
    crowded.bounds = new WatchBounds(0);
    const refused = await crowded.watch(pods);
    t.ok(isStatus(refused) && refused.code === 429);
    t.equal(crowded.sink.text, "");
    const hurried = new Client();
    hurried.bounds = new WatchBounds(10, 10, 0);
    t.match(await hurried.watch(pods, future), {
      code: 429,
      message: /^too many watches waiting for a resource version/,
    });
    t.equal(hurried.bounds.watches.used, 0);
  },
);

t.test("serveWatch() answers a version that is gone in the stream, and waits for one of the future", async (t) => {
  const pods = resourceOf("", "v1", "pods");
  const old = new Client();
  t.equal(await old.watch(pods, { resourceVersion: "99" }), undefined);
  t.match(old.objects, [{ type: "ERROR", object: { code: 410, reason: "Expired" } }]);
  t.ok(old.sink.ended);
  const future = new Client();
  t.equal(await future.watch(pods, { resourceVersion: "999" }), undefined);
  t.equal(future.sink.text, "");
  future.gone();
});

t.test("serveWatch() ends a watch at a version that a shared store has not given out", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
  const pods = resourceOf("", "v1", "pods");
  const watch = async (newest: number | Status, timeoutSeconds = 0): Promise<[Client, Status | undefined]> => {
    const client = new Client();
    client.newest = () => Promise.resolve(newest);
    return [client, await client.watch(pods, { resourceVersion: "999", timeoutSeconds })];
  };
  const [lost] = await watch(998);
  t.equal(lost.sink.text, "", "nothing at first, as upstream");
  mock.timers.tick(limits.watchUnknownMs);
  t.match(lost.objects, [{ type: "ERROR", object: { code: 410, reason: "Expired" } }]);
  t.ok(lost.sink.ended);
  const [short] = await watch(998, 1);
  mock.timers.tick(1000);
  t.match(short.sink, { ended: true, text: "" }, "its time was over before");
  const [left] = await watch(998);
  left.gone();
  mock.timers.tick(limits.watchUnknownMs);
  t.equal(left.sink.text, "");
  for (const client of [lost, short, left]) {
    t.equal(client.over, 1);
    t.equal(client.bounds.watches.used, 0);
  }
  const [early] = await watch(999);
  mock.timers.tick(limits.watchUnknownMs);
  t.notOk(early.sink.ended, "another server has given it out");
  early.gone();
  const [, refused] = await watch(refuse("Timeout", "the store does not answer"));
  t.match(refused, { code: 504 });
});
