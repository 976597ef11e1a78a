// How events reach a backend: in turn or in batches, cut where they are too large, and what becomes of those that a
// peer which hangs, fails or comes back does not take.
import { spawnSync } from "node:child_process";
import type { ServerResponse } from "node:http";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { createDelivery } from "../../src/audit/delivery.ts";
import type { Delivery, Destination } from "../../src/audit/destination.ts";
import { eventsOf, linesOf, parts, truncated } from "../../src/audit/destination.ts";
import { Webhook } from "../../src/audit/webhook.ts";
import type { Owner } from "../../src/base/shares.ts";
import type { AuditDelivery } from "../../src/config/auditflags.ts";
import { limits } from "../../src/config/limits.ts";
import { namedBy, openTracing } from "../observe/tracing.ts";
import { until } from "../support/inprocess.ts";
import { openPeer, sayJson } from "../support/peer.ts";

const annotation = "audit.k8s.io/truncated";

const ours: Owner = { name: "admin", level: "masters" };

/** Has events taken that are one owner's. */
function take(delivery: Delivery, events: readonly string[], owner = ours): boolean | Promise<boolean> {
  return delivery.take(
    linesOf(events),
    events.map(() => owner),
  );
}

/** A backend that keeps what it gets; `slow` calls wait for release(). */
class Kept implements Destination {
  readonly name = "kept";
  readonly batches: string[][] = [];
  fault: string | undefined;
  slow = false;
  refusesLarge = false;
  readonly #held: (() => void)[] = [];

  async write(lines: string): Promise<string | undefined> {
    this.batches.push(eventsOf(lines));
    if (this.slow) await new Promise<void>((resolve) => this.#held.push(resolve));
    return this.refusesLarge && lines.length > limits.auditWriteBytesMax ? "too large" : this.fault;
  }

  release(): void {
    this.slow = false;
    for (const go of this.#held.splice(0)) go();
  }

  hurry(): void {}
  close(): void {}
}

class Lost {
  readonly counts = new Map<string, number>();
  lost(plugin: string, events: number): void {
    this.counts.set(plugin, (this.counts.get(plugin) ?? 0) + events);
  }
}

const batch: AuditDelivery = {
  mode: "batch",
  bufferSize: 10,
  batchMax: 3,
  batchWaitMs: 0,
  throttle: undefined,
  truncate: undefined,
};

t.test("batches leave when they are full or old enough", async (t) => {
  const to = new Kept();
  const losses = new Lost();
  const delivery = createDelivery({ to, config: { ...batch, batchWaitMs: 3_600_000 }, losses, annotation });
  t.equal(take(delivery, ["1", "2"]), true);
  t.same(to.batches, [], "not full");
  t.equal(take(delivery, ["3", "4"]), true);
  t.same(to.batches, [["1", "2", "3"]]);
  await delivery.finish();
  t.same(to.batches[1], ["4"], "the rest at the end");
  const aged = createDelivery({ to, config: { ...batch, batchWaitMs: 5 }, losses, annotation });
  t.equal(take(aged, ["5"]), true);
  t.ok(await until(() => to.batches.length === 3), "after a while");
  t.same(losses.counts, new Map());
});

t.test("what finds the buffer full is dropped and counted", async (t) => {
  const to = new Kept();
  to.slow = true;
  const losses = new Lost();
  const delivery = createDelivery({ to, config: { ...batch, batchMax: 1 }, losses, annotation });
  // Eight are being written, ten wait.
  const events = Array.from({ length: 25 }, (_, index) => String(index));
  for (const event of events) t.equal(take(delivery, [event]), true, "no request waits");
  t.equal(losses.counts.get("buffered"), 7);
  to.release();
  await delivery.finish();
  t.same(to.batches.flat(), events.slice(0, 18), "in order, the oldest are kept");
});

t.test("a user whose events fill its share of the buffer loses its own", async (t) => {
  const to = new Kept();
  to.slow = true;
  const losses = new Lost();
  const delivery = createDelivery({ to, config: { ...batch, bufferSize: 40, batchMax: 1 }, losses, annotation });
  const [alice, bob] = (["alice", "bob"] as const).map((name): Owner => ({ name, level: "ordinary" }));
  const many = Array.from({ length: 50 }, (_, index) => `a${index}`);
  t.equal(take(delivery, many, alice), true);
  // Eight are being written, and free their places.
  t.equal(losses.counts.get("buffered"), 50 - 20);
  t.equal(take(delivery, ["b"], bob), true);
  t.equal(losses.counts.get("buffered"), 50 - 20, "another user's is kept");
  to.release();
  await delivery.finish();
  t.ok(to.batches.flat().includes("b"));
  t.equal(take(delivery, many.slice(0, 20), alice), true);
  t.equal(losses.counts.get("buffered"), 50 - 20, "what left gave its place back");
  await delivery.finish();
});

t.test("batches are limited per second", async (t) => {
  const to = new Kept();
  const losses = new Lost();
  const config = { ...batch, batchMax: 1, throttle: { perSecond: 50, burst: 2 } };
  const delivery = createDelivery({ to, config, losses, annotation });
  const beganMs = performance.now();
  t.equal(take(delivery, ["1", "2", "3", "4", "5"]), true);
  t.equal(to.batches.length, 2, "a burst");
  t.ok(await until(() => to.batches.length === 5));
  t.ok(performance.now() - beganMs >= 55, "then one in 20 ms");
});

t.test("in turn, whoever sent events hears when they are written", async (t) => {
  const to = new Kept();
  to.slow = true;
  const losses = new Lost();
  const options = { to, losses, annotation };
  const strict = createDelivery({ ...options, config: { ...batch, mode: "blocking-strict" } });
  const first = take(strict, ["1"]);
  const others = [take(strict, ["2", "3"]), take(strict, ["4"])];
  t.same(to.batches, [["1"]]);
  to.release();
  t.equal(await first, true);
  t.same(await Promise.all(others), [true, true]);
  t.same(to.batches, [["1"], ["2", "3", "4"]], "what came meanwhile goes together");
  to.fault = "no space";
  t.equal(await take(strict, ["5"]), false);
  t.equal(losses.counts.get("kept"), 1);
  const lenient = createDelivery({ ...options, config: { ...batch, mode: "blocking" } });
  t.equal(await take(lenient, ["6"]), true, "only strict mode makes it a request's failure");
  t.equal(losses.counts.get("kept"), 2);
});

t.test("events that a peer takes for too large lose no others", async (t) => {
  const large = "x".repeat(limits.auditWriteBytesMax);
  for (const mode of ["batch", "blocking-strict"] as const) {
    const to = new Kept();
    to.refusesLarge = true;
    const losses = new Lost();
    const delivery = createDelivery({
      to,
      config: { ...batch, mode, batchMax: 5, batchWaitMs: 3_600_000 },
      losses,
      annotation,
    });
    to.slow = mode !== "batch";
    const first = take(delivery, ["1"]);
    const others = ["2", large, "3", "4"].map((event) => take(delivery, [event]));
    to.release();
    const stored = mode === "batch" ? [true, true, true, true] : [true, false, true, true];
    t.same(await Promise.all([first, ...others]), [true, ...stored], mode);
    await delivery.finish();
    t.same(to.batches.flat(), ["1", "2", large, "3", "4"], "in order");
    t.equal(losses.counts.get("kept"), 1);
  }
});

t.test("truncated() takes bodies out, and drops what is still too large", (t) => {
  const losses = new Lost();
  const body = "x".repeat(200);
  const small = '{"level":"Request"}';
  const large = `{"level":"Request","requestObject":{"a":"${body}"},"responseObject":{},"annotations":{"b":"1"}}`;
  const vain = `{"level":"Request","requestURI":"${body}","requestObject":{}}`;
  const cut = truncated([small, large, vain], { eventBytesMax: 150, batchBytesMax: 1000 }, annotation, losses);
  t.same(cut, [small, `{"level":"Request","annotations":{"${annotation}":"true","b":"1"}}`]);
  t.equal(losses.counts.get("truncate"), 1);
  t.same(parts(["aaa", "bb", "c", "ddddddd"], 5), ["aaa\nbb\n", "c\n", "ddddddd\n"]);
  t.same(parts([], 5), []);
  t.end();
});

const { kubernetes } = identities;

t.test("the webhook gets lists of events, and again when it failed", async (t) => {
  const bodies: string[] = [];
  const codes = [503, 429, 200, 400];
  const peer = await openPeer((body, response) => {
    bodies.push(body);
    sayJson(response, {}, codes[bodies.length - 1] ?? 200);
  });
  t.teardown(() => peer.close());
  const webhook = new Webhook({ url: `${peer.url}/audit`, authorities: peer.authority }, kubernetes, 1);
  t.teardown(() => webhook.close());
  t.equal(await webhook.write(linesOf(['{"n":1}', '{"n":2}'])), undefined);
  t.equal(bodies.length, 3, "two that may pass, one that went well");
  t.same(JSON.parse(bodies[2] ?? ""), {
    kind: "EventList",
    apiVersion: "audit.k8s.io/v1",
    metadata: {},
    items: [{ n: 1 }, { n: 2 }],
  });
  t.equal(await webhook.write(linesOf(['{"n":3}'])), "the webhook answered 400");
  t.equal(bodies.length, 4, "what will not pass is not tried again");
});

t.test("a webhook that hangs costs no more than its buffer, and the end does not wait for it", async (t) => {
  const hanging: ServerResponse[] = [];
  const peer = await openPeer((_body, response) => void hanging.push(response));
  t.teardown(() => peer.close());
  const webhook = new Webhook({ url: peer.url, authorities: peer.authority }, kubernetes, 3_600_000);
  const losses = new Lost();
  const delivery = createDelivery({ to: webhook, config: { ...batch, batchMax: 1 }, losses, annotation });
  for (let index = 0; index < 1000; index += 1) t.equal(take(delivery, [`{"n":${index}}`]), true);
  t.equal(losses.counts.get("buffered"), 1000 - 10 - 8, "ten wait, eight are under way");
  t.ok(await until(() => hanging.length === 8));
  webhook.hurry();
  // Those that hang fail now and are not repeated; what waits is tried once.
  for (const response of hanging.splice(0)) response.destroy();
  const ended = delivery.finish();
  await until(() => {
    for (const response of hanging.splice(0)) response.destroy();
    return losses.counts.get("webhook") === 18;
  });
  await ended;
  t.equal(losses.counts.get("webhook"), 18);
  webhook.close();
});

t.test("a webhook that is gone is tried until it is back", async (t) => {
  let alive = false;
  const seen: string[] = [];
  const peer = await openPeer((body, response) => {
    seen.push(body);
    if (alive) sayJson(response, {});
    else response.destroy();
    alive = true;
  });
  t.teardown(() => peer.close());
  const webhook = new Webhook({ url: peer.url, authorities: peer.authority }, kubernetes, 1);
  t.teardown(() => webhook.close());
  t.equal(await webhook.write(linesOf(['{"n":1}'])), undefined);
  t.equal(seen.length, 2);
});

t.test("a webhook is tried again where the process had no descriptor left", async (t) => {
  const modules = ["audit/webhook.js", "api/identity.js"].map((file) =>
    JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href),
  );
  // All taken until the first try has failed: nothing listens there, which is what later ones are told.
  const script = `
    import { closeSync, openSync } from "node:fs";
    import { Webhook } from ${modules[0]};
    import { identities } from ${modules[1]};
    const webhook = new Webhook({ url: "http://127.0.0.1:1" }, identities.kubernetes, 200);
    const open = [];
    const take = () => {
      try {
        for (;;) open.push(openSync("/dev/null"));
      } catch {}
    };
    take();
    const done = webhook.write("{}\\n");
    const taking = setInterval(take, 1);
    setTimeout(() => {
      clearInterval(taking);
      for (const one of open) closeSync(one);
    }, 100);
    console.log(await done);`;
  const { NODE_OPTIONS: _preloads, ...env } = process.env;
  const run = 'ulimit -n 64; exec "$0" --input-type=module -e "$1"';
  t.match(spawnSync("sh", ["-c", run, process.execPath, script], { encoding: "utf8", env }).stdout, /ECONNREFUSED/);
});

t.test("a post is a trace of its own where it is sampled, and each try a span with its trace parent", async (t) => {
  const parents: unknown[] = [];
  const peer = await openPeer((_body, response, request) => {
    parents.push(request.headers["traceparent"]);
    sayJson(response, {}, parents.length === 1 ? 503 : 200);
  });
  const { tracer, spans, flush } = openTracing();
  const connection = { url: peer.url, authorities: peer.authority };
  const webhook = new Webhook(connection, kubernetes, 1, tracer);
  const untraced = new Webhook(connection, kubernetes, 1, openTracing(0).tracer);
  t.teardown(() => {
    webhook.close();
    untraced.close();
    peer.close();
  });
  t.equal(await webhook.write(linesOf(['{"n":1}', '{"n":2}'])), undefined);
  t.equal(await untraced.write(linesOf(['{"n":3}'])), undefined);
  flush();
  const [root, ...tries] = spans;
  t.match(root, { name: "audit events", parentId: "", isError: false });
  t.equal(new Map(root?.attributes).get("audit.events"), 2);
  t.same(
    tries.map(({ name, parentId, isError }) => [name, parentId, isError]),
    [
      ["audit webhook", root?.spanId, true],
      ["audit webhook", root?.spanId, false],
    ],
  );
  t.same(parents, [...tries.map(namedBy), undefined]);
});
