// When a post is tried again, how long it waits, and what it comes to.
import t from "tap";
import { type Answer, type Call, CallFailure } from "../../src/outbound/client.ts";
import { mayPass, post, type Terms } from "../../src/outbound/post.ts";

type Outcome = Answer | CallFailure;

const said = (code: number): Answer => ({ code, contentType: "", cacheControl: "", body: Buffer.alloc(0) });
const failed = (failure: CallFailure["failure"]): CallFailure => new CallFailure(failure, failure);

/** Posts to a peer that gives these outcomes, the last one again and again. */
async function attempt(outcomes: readonly Outcome[], terms: Partial<Terms> = {}) {
  const calls: Call[] = [];
  const pauses: number[] = [];
  const client = {
    call: async (call: Call): Promise<Outcome> => {
      calls.push(call);
      return outcomes[Math.min(calls.length, outcomes.length) - 1] ?? said(200);
    },
  };
  const pause = async (ms: number): Promise<void> => void pauses.push(ms);
  const outcome = await post(client, "{}", { pauseMs: 500, callMs: () => 1000, pause, ...terms });
  return { outcome, calls, pauses };
}

t.test("post() sends JSON, and pauses by half as much more each time, up to five tries", async (t) => {
  const { outcome, calls, pauses } = await attempt([said(503)]);
  t.same(outcome, said(503));
  t.same(pauses, [500, 750, 1_125, 1_688]);
  t.equal(calls.length, 5);
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  t.same(calls[0], { method: "POST", headers, body: "{}", timeoutMs: 1000 });
});

const cases: readonly { readonly name: string; readonly outcomes: readonly Outcome[]; readonly calls: number }[] = [
  { name: "an answer is an answer", outcomes: [said(200)], calls: 1 },
  { name: "so is a refusal", outcomes: [said(403)], calls: 1 },
  { name: "so is a redirect", outcomes: [said(307)], calls: 1 },
  { name: "too many requests", outcomes: [said(429), said(201)], calls: 2 },
  { name: "the peer is broken", outcomes: [said(500), said(502), said(201)], calls: 3 },
  { name: "no process listens", outcomes: [failed("unreachable"), said(200)], calls: 2 },
  { name: "it is slow", outcomes: [failed("timeout"), said(200)], calls: 2 },
  { name: "too many wait", outcomes: [failed("busy")], calls: 1 },
  { name: "the time is over", outcomes: [failed("late")], calls: 1 },
  { name: "the server ends", outcomes: [failed("unreachable"), failed("closed")], calls: 2 },
];

for (const { name, outcomes, calls } of cases) {
  t.test(`post() tries again where that may help: ${name}`, async (t) => {
    const done = await attempt(outcomes);
    t.equal(done.calls.length, calls);
    t.equal(done.outcome, outcomes.at(-1));
  });
}

t.test("post() asks its caller what may help", async (t) => {
  const mayHelp = (outcome: Outcome): boolean => mayPass(outcome) && !(outcome instanceof CallFailure);
  t.equal((await attempt([failed("timeout")], { mayHelp })).calls.length, 1);
  t.equal((await attempt([said(500)], { mayHelp })).calls.length, 5);
});

t.test("post() begins nothing it has no time for", async (t) => {
  const none = await attempt([], { leftMs: () => 0 });
  t.same(none.outcome, new CallFailure("late", "there is no time left"));
  t.equal(none.calls.length, 0);
  let left = 1_600;
  const terms = {
    leftMs: () => left,
    pause: async (ms: number): Promise<void> => {
      left -= ms;
    },
  };
  const some = await attempt([said(500)], terms);
  t.same(
    some.calls.map(({ timeoutMs }) => timeoutMs),
    [1000, 1000, 1000],
  );
  t.same(some.outcome, new CallFailure("late", "it answered 500"), "the peer might have answered the next one");
});

t.test("post() says what was answered when a pause took longer than it had", async (t) => {
  let left = 1_600;
  const pause = async (): Promise<void> => {
    left = -1;
  };
  const { outcome, calls } = await attempt([said(500)], { leftMs: () => left, pause });
  t.same(outcome, new CallFailure("late", "it answered 500"));
  t.equal(calls.length, 1);
});

t.test("post() asks anew how long a call may last, and waits by itself", async (t) => {
  const times = [700, 100];
  const held = setInterval(() => undefined, 1000);
  t.teardown(() => clearInterval(held));
  const { calls } = await attempt([said(500), said(200)], {
    pauseMs: 1,
    callMs: () => times.shift() ?? 0,
    pause: undefined,
  });
  t.same(
    calls.map(({ timeoutMs }) => timeoutMs),
    [700, 100],
  );
});
