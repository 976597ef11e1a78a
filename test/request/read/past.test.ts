import t from "tap";
import { isStatus } from "../../../src/api/status.ts";
import { Shares } from "../../../src/base/shares.ts";
import { encodeSelection } from "../../../src/cache/shared/selection.ts";
import { limits } from "../../../src/config/limits.ts";
import { exceeded } from "../../../src/request/exchange/exceeded.ts";
import { type Past, type PastQuery, readPast } from "../../../src/request/read/past.ts";
import { changeTypes, type PastPage, type PastRequest, type Record, StoreError } from "../../../src/storage/store.ts";
import { selectorOf } from "../../support/fakefront.ts";

const prefix = "/registry/configmaps";

/** A past of objects `ns/k000` and on, each labelled with its number modulo 10; pages come in buffers of their own. */
function pastOf(count: number, bodyBytes: number, more: Partial<Past> = {}): { past: Past; asked: PastRequest[] } {
  const asked: PastRequest[] = [];
  const page = async (request: PastRequest): Promise<PastPage> => {
    asked.push(request);
    const first = request.after === "" ? 0 : Number(request.after.slice(-3)) + 1;
    const taken = Math.min(count - first, request.limit, 100);
    const buffer = new Uint8Array(taken * bodyBytes);
    const records = Array.from({ length: taken }, (_, i): Record => {
      const name = `k${String(first + i).padStart(3, "0")}`;
      const selection = encodeSelection("ns", name, new Map([["n", `${(first + i) % 10}`]]), []);
      const body = buffer.subarray(i * bodyBytes, (i + 1) * bodyBytes);
      const place = { revision: 5, createRevision: 5, previous: 0, type: changeTypes.create };
      return { ...place, prefix, key: `${prefix}/ns/${name}`, selection, body, versionAt: 0 };
    });
    return { records, remaining: count - first - taken };
  };
  const past: Past = { page, keep: () => undefined, isLate: () => false, ...more };
  return { past, asked };
}

function query(labels = "", limit = Number.POSITIVE_INFINITY, after = ""): PastQuery {
  const selector = selectorOf(labels, "");
  return { prefix, namespace: "ns", selector, after, revision: 5, limit, aborted: () => false };
}

const found = async (...args: Parameters<typeof readPast>) => {
  const items = await readPast(...args);
  if (items === undefined || isStatus(items)) throw new Error("Nothing was found");
  const keys = items.items.map((at) => items.records.keyOf(at).slice(3));
  return { ...items, keys };
};

t.test("readPast() goes through pages, and asks for no more than it needs", async (t) => {
  const { past, asked } = pastOf(250, 10);
  const all = await found(past, query());
  t.same([all.keys.length, all.keys[249], all.next, all.remaining], [250, "k249", undefined, 0]);
  t.same(
    asked.map(({ after }) => after),
    ["", "ns/k099", "ns/k199"],
  );
  const page = await found(past, query("", 120, "ns/k009"));
  t.same([page.keys.length, page.keys[0], page.next, page.remaining], [120, "k010", "ns/k129", 120]);
  t.same(
    asked.slice(3).map(({ limit }) => limit),
    [120, 20],
  );
  t.ok(asked.every(({ limit }) => limit <= limits.pastPageRecords));
  const last = await found(past, query("", 250));
  t.same([last.next, last.remaining], [undefined, 0]);
});

t.test("readPast() keeps of a page with few that match nothing else", async (t) => {
  const { past } = pastOf(250, 1000);
  const some = await found(past, query("n=3", 7));
  t.same(some.keys, ["k003", "k013", "k023", "k033", "k043", "k053", "k063"]);
  t.same([some.next, some.remaining], ["ns/k063", 186], "what follows is for the next page to find out");
  for (const at of some.items) {
    t.equal(some.records.object(at).buffer.byteLength, 1000);
    t.same(some.records.hold().expired, false);
    t.notOk(some.records.isCurrent(at));
  }
  t.same((await found(past, query("n=nothing"))).keys, []);
});

t.test("readPast() is bounded in bytes, by user, and in time", async (t) => {
  const perObject = 1024 * 1024;
  const fits = limits.pastListBytesMax / perObject - 1;
  t.equal((await found(pastOf(fits, perObject).past, query())).keys.length, fits);
  t.equal(await readPast(pastOf(fits + 1, perObject).past, query()), undefined, "as one that is too old");
  let kept = 0;
  const shares = new Shares("bytes of lists of the past", 100);
  const keep = (bytes: number) => {
    kept += bytes;
    return kept > 2000 ? exceeded(shares, { name: "u", level: "ordinary" }) : undefined;
  };
  const full = await readPast(pastOf(250, 10, { keep }).past, query());
  t.ok(isStatus(full) && full.code === 429);
  const late = await readPast(pastOf(250, 10, { isLate: () => true }).past, query());
  t.ok(isStatus(late) && late.code === 504);
  const gone = await readPast(pastOf(250, 10).past, { ...query(), aborted: () => true });
  t.ok(isStatus(gone) && gone.code === 504);
});

t.test("readPast() tells a past that is compacted from a store that does not answer, and hides no fault", async (t) => {
  const failing = (error: Error): Past => pastOf(1, 1, { page: () => Promise.reject(error) }).past;
  t.equal(await readPast(failing(new StoreError("compacted", "gone")), query()), undefined);
  const away = await readPast(failing(new StoreError("unavailable", "away")), query());
  t.ok(isStatus(away) && away.code === 504 && away.details?.retryAfterSeconds === 1);
  await t.rejects(readPast(failing(new Error("a bug")), query()), { message: "a bug" });
});
