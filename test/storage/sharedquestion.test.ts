import t from "tap";
import { RecentRevision } from "../../src/storage/recent.ts";
import { SharedQuestion } from "../../src/storage/sharedquestion.ts";
import { StoreError } from "../../src/storage/store.ts";

/** Questions that are answered by hand. */
function asker(max: number, soon: (work: () => void) => void = (work) => work()) {
  const sent: { answer: (value: string) => void; fail: (error: Error) => void }[] = [];
  const send = (): Promise<string> => new Promise((answer, fail) => sent.push({ answer, fail }));
  return { sent, question: new SharedQuestion(send, max, soon) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test("ask() shares the question that is sent next, and none that was sent before", async (t) => {
  const { sent, question } = asker(1);
  const first = question.ask();
  await turn();
  t.equal(sent.length, 1);
  const others = [question.ask(), question.ask()];
  await turn();
  t.equal(sent.length, 1, "one is under way");
  sent[0]?.answer("old");
  t.equal(await first, "old");
  const late = question.ask();
  await turn();
  t.equal(sent.length, 2);
  sent[1]?.answer("new");
  t.same(await Promise.all(others), ["new", "new"]);
  await turn();
  t.equal(sent.length, 3, "the one that came meanwhile has its own");
  sent[2]?.answer("newest");
  t.equal(await late, "newest");
});

t.test("ask() gathers until it sends, has so many questions under way, and goes on behind a failure", async (t) => {
  const { sent, question } = asker(2, (work) => void setImmediate(work));
  const gathered = [question.ask(), question.ask(), question.ask()];
  t.equal(sent.length, 0);
  await turn();
  t.equal(sent.length, 1);
  const second = question.ask();
  await turn();
  t.equal(sent.length, 2, "two may be under way");
  const third = question.ask();
  await turn();
  t.equal(sent.length, 2, "and no third");
  sent[0]?.fail(new Error("away"));
  for (const each of gathered) await t.rejects(each, { message: "away" });
  await turn();
  t.equal(sent.length, 3);
  sent[2]?.answer("third");
  sent[1]?.answer("second");
  t.same(await Promise.all([second, third]), ["second", "third"]);
});

t.test("a question no caller waits for any more may fail", async (t) => {
  const { sent, question } = asker(1);
  void question.ask().catch(() => undefined);
  await turn();
  sent[0]?.fail(new Error("away"));
  await turn();
  t.pass("no rejection is left unhandled");
});

t.test("RecentRevision answers what is published, in the order of revisions", async (t) => {
  let newest = 5;
  let isAway = false;
  const currentRevision = (): Promise<number> =>
    isAway ? Promise.reject(new StoreError("unavailable", "away")) : Promise.resolve(newest);
  const recent = new RecentRevision({ currentRevision }, 5);
  t.equal(await recent.ask(), 5);
  const told: number[] = [];
  const ask = (): Promise<number> => {
    const asked = recent.ask();
    void asked.then((revision) => told.push(revision));
    return asked;
  };
  newest = 7;
  const seven = ask();
  await turn();
  newest = 9;
  const nine = [ask(), ask()];
  await turn();
  recent.published(6);
  await turn();
  t.same(told, []);
  recent.published(8);
  t.equal(await seven, 7);
  t.same(told, [7]);
  // A revision that no record has.
  recent.published(9);
  t.same(await Promise.all(nine), [9, 9]);
  isAway = true;
  await t.rejects(recent.ask(), { name: "StoreError", message: "away" });
  isAway = false;
  t.equal(await recent.ask(), 9);
  t.throws(() => recent.published(8), { name: "SharedStateFailure" });
  newest = 20;
  void recent.ask();
  await turn();
  newest = 12;
  await t.rejects(recent.ask(), { name: "SharedStateFailure" }, "a store whose revisions go back is another one");
});
