// The cache of tokens: right answers for ten seconds, wrong ones not at all, and never one for another (ATTACKS E11).
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { type Outcome, refused, type TokenAuthenticator } from "../../src/authn/authenticator.ts";
import { countAuthn } from "../../src/authn/events.ts";
import { cacheTokens } from "../../src/authn/tokencache.ts";
import { limits } from "../../src/config/limits.ts";
import { Registry, seriesOf } from "../../src/observe/metrics.ts";

function setting(
  answer: (token: string, audiences: readonly string[] | undefined) => Outcome | Promise<Outcome>,
  unknownMs = 0,
) {
  const state = { now: 0, asked: 0 };
  const registry = new Registry();
  const inner: TokenAuthenticator = {
    authenticateToken: (token, audiences) => {
      state.asked++;
      return answer(token, audiences);
    },
  };
  const cache = cacheTokens(
    inner,
    { now: () => 0, monotonic: () => state.now },
    countAuthn(registry, identities.orch),
    10_000,
    unknownMs,
  );
  /** What was counted: label and value. */
  const counted = (name: string): Record<string, number | undefined> => {
    const family = registry.snapshot().find((one) => one.name === `authentication_token_cache_${name}`);
    return Object.fromEntries((family && seriesOf(family))?.map(([key, values]) => [key, values.at(-1)]) ?? []);
  };
  return {
    state,
    counted,
    ask: (token: string, ...audiences: string[][]) => cache.authenticateToken(token, audiences[0]),
  };
}

const user = (name: string) => ({ name, uid: "", groups: [], extra: new Map() });

t.test("E11: right answers are kept for their time, at once", (t) => {
  const { state, ask } = setting((token) => ({ user: user(token) }));
  for (const now of [0, 9_999]) {
    state.now = now;
    t.same(ask("a"), { user: user("a") });
  }
  t.equal(state.asked, 1);
  state.now = 10_000;
  void ask("a");
  t.equal(state.asked, 2);
  t.end();
});

t.test("E11: wrong answers are not kept", async (t) => {
  const { state, ask } = setting((token) => (token === "late" ? Promise.resolve(refused("no")) : refused("no")));
  void ask("a");
  void ask("a");
  await ask("late");
  await ask("late");
  t.equal(state.asked, 4);
});

t.test("E11: audiences are part of the question, whatever they are called", (t) => {
  const { state, ask } = setting((token, audiences) => ({ user: user(`${token} ${audiences?.join("|")}`), audiences }));
  const questions: [string, string[]?][] = [["a"], ["a", []], ["a", ["b"]], ["a", ["b", "c"]], ["a", ["b,c"]], ["ab"]];
  questions.push(["a", ['b","c']], ["a\0", ["b"]]);
  for (const [token, audiences] of [...questions, ...questions]) {
    const outcome = audiences === undefined ? ask(token) : ask(token, audiences);
    t.same(outcome, { user: user(`${token} ${audiences?.join("|")}`), audiences });
  }
  t.equal(state.asked, questions.length);
  t.end();
});

t.test("E11: an answer that does not hold any more is asked for again", (t) => {
  let holds = true;
  const { state, ask } = setting((token) => ({ user: user(token), holds: () => holds }));
  void ask("a");
  void ask("a");
  t.equal(state.asked, 1);
  holds = false;
  void ask("a");
  t.equal(state.asked, 2);
  t.end();
});

t.test("E11: equal questions under way are asked once", async (t) => {
  let answer: (outcome: Outcome) => void = () => undefined;
  const { state, ask } = setting(() => new Promise<Outcome>((resolve) => (answer = resolve)));
  const both = [ask("a"), ask("a")];
  t.equal(state.asked, 1);
  answer({ user: user("a") });
  t.same(await Promise.all(both), [{ user: user("a") }, { user: user("a") }]);
  t.notOk(ask("a") instanceof Promise, "and kept");
});

t.test("E11: a question that ends in a fault leaves nothing behind", async (t) => {
  let fails = true;
  const { state, ask } = setting((token) => (fails ? Promise.reject(new Error("lost")) : { user: user(token) }));
  await t.rejects(Promise.all([ask("a"), ask("a")]), /lost/);
  t.equal(state.asked, 1);
  fails = false;
  t.same(ask("a"), { user: user("a") }, "the next one is asked anew");
  t.equal(state.asked, 2);
});

t.test("hits, misses and what was asked for are counted", async (t) => {
  const answers: ((outcome: Outcome) => void)[] = [];
  const { state, ask, counted } = setting((token) => {
    if (token === "known") return { user: user("a") };
    if (token === "wrong") return refused("no");
    return token === "late" ? new Promise<Outcome>((resolve) => answers.push(resolve)) : undefined;
  });
  for (const token of ["known", "known", "known", "wrong", "unknown"]) void ask(token);
  t.same(counted("request_total"), { hit: 2, miss: 3 });
  t.same(counted("fetch_total"), { ok: 2, error: 1 });
  t.same(counted("active_fetch_count"), {});
  const both = [ask("late"), ask("late"), ask("late")];
  t.same(counted("active_fetch_count"), { in_flight: 1, blocked: 2 });
  state.now = 1_500.7;
  answers[0]?.({ user: user("b") });
  await Promise.all(both);
  t.same(counted("active_fetch_count"), { in_flight: 0, blocked: 0 });
  t.same(counted("request_total"), { hit: 2, miss: 6 });
  t.same(counted("fetch_total"), { ok: 3, error: 1 });
  t.same(counted("request_duration_seconds"), { hit: 0, miss: 4.5 }, "in whole milliseconds");
});

t.test("E11: tokens that are not known take no room from those that are", (t) => {
  const { state, ask } = setting((token) => (token === "a" ? { user: user("a") } : undefined), 10_000);
  void ask("a");
  for (let index = 0; index <= limits.tokenCacheMax; index++) void ask(`t${index}`);
  const before = state.asked;
  t.same(ask("a"), { user: user("a") });
  t.equal(ask(`t${limits.tokenCacheMax}`), undefined);
  t.equal(state.asked, before, "both are kept");
  void ask("t0");
  t.equal(state.asked, before + 1, "of these, too, only so many");
  t.end();
});

t.test("E11: it is bounded", (t) => {
  const { state, ask } = setting((token) => ({ user: user(token) }));
  for (let index = 0; index <= limits.tokenCacheMax; index++) void ask(`t${index}`);
  const before = state.asked;
  void ask(`t${limits.tokenCacheMax}`);
  t.equal(state.asked, before, "the newest is there");
  void ask("t0");
  t.equal(state.asked, before + 1, "the oldest is not");
  t.end();
});
