import { spawnSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../src/base/clock.ts";
import { Journal } from "../../src/storage/lmdb/journal.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { change } from "../support/changes.ts";
import type { Truth } from "./check.ts";
import { runCycle } from "./cycle.ts";
import { CutDisk, whyNoPowerCut } from "./power.ts";

const root = mkdtempSync(join(tmpdir(), "orch-disk-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
const notes = join(root, "notes");
mkdirSync(notes);
const empty: Truth = { revision: 0, floor: 0, facts: [] };
t.setTimeout(600_000);
const strace = spawnSync("strace", ["-V"]).status === 0;
const whyNoDisk = whyNoPowerCut();

/** Says aloud that a test could not be done here. */
function cannot(name: string, why: string): void {
  t.comment(`NOT TESTED: ${name}: ${why}`);
  t.ok(true, `${name} cannot be tested here: ${why}`);
}

interface Order {
  acknowledged: number;
  /** Transactions of the tree, and frames of the journal. */
  commits: number;
  frames: number;
  wrong: string[];
}

/**
 * Follows a trace: pages, then fdatasync, then the synced meta page, or a frame and its fdatasync, and only then an
 * acknowledgement.
 */
function readOrder(trace: string): Order {
  const data = new Set<string>();
  const meta = new Set<string>();
  const journal = new Set<string>();
  const order: Order = { acknowledged: 0, commits: 0, frames: 0, wrong: [] };
  let framed = false;
  let state: "durable" | "written" | "synced" = "durable";
  for (const line of trace.split("\n")) {
    const [, call = "", fd = "", rest = ""] = /^\d+ +(\w+)\((\w+)\b(.*)$/.exec(line) ?? [];
    const [, file, opened] = /(data\.mdb|journal)(?:\.new)?".*= (\d+)$/.exec(rest) ?? [];
    if (call === "openat" && opened !== undefined) {
      for (const files of [data, meta, journal]) files.delete(opened);
      (file === "journal" ? journal : rest.includes("O_DSYNC") ? meta : data).add(opened);
    } else if (journal.has(fd)) {
      if (call === "fdatasync" && framed) order.frames++;
      framed = call.startsWith("p");
    } else if (call === "fdatasync" && data.has(fd) && state === "written") state = "synced";
    else if (call.startsWith("p") || call === "writev") {
      if (data.has(fd)) state = "written";
      if (!meta.has(fd)) continue;
      if (state !== "synced") order.wrong.push(`meta page while ${state}: ${line}`);
      state = "durable";
      order.commits++;
    } else if (/^, "\{\\"t\\":\\"(ack|event)/.test(rest)) {
      if (state !== "durable" || framed) order.wrong.push(`told while ${framed ? "framed" : state}: ${line}`);
      order.acknowledged++;
    }
  }
  return order;
}

if (!strace) cannot("the order of writes and acknowledgements", "no strace");
else {
  t.test("an acknowledgement never precedes the sync of its data", async (t) => {
    const trace = join(root, "trace");
    const calls = "trace=openat,fsync,fdatasync,pwrite64,pwritev,writev,write";
    const under = ["strace", "-f", "-qq", "-s", "32", "-e", calls, "-e", "signal=none", "-o", trace];
    let truth = empty;
    for (const compact of [true, false]) {
      const store = join(root, "traced");
      const ran = await runCycle({ store, notes, seed: 1, compact, failpoint: "after-publish:200", under }, truth);
      truth = ran.truth;
      t.same(ran.result.violations, []);
      const order = readOrder(readFileSync(trace, "latin1"));
      t.same(order.wrong, []);
      t.ok(order.commits >= (compact ? 100 : 2), `${order.commits} transactions`);
      t.ok(order.frames >= 100, `${order.frames} frames of the journal`);
      t.ok(order.acknowledged >= 1000, `${order.acknowledged} changes were acknowledged`);
    }
  });

  const faults = ["fdatasync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=EINVAL", "writev:error=EIO"];
  for (const [i, fault] of faults.entries()) {
    t.test(`a store ends at the first ${fault} and acknowledges nothing after it`, async (t) => {
      let truth = empty;
      for (const when of [12, 30, 77]) {
        const under = [
          "strace",
          "-f",
          "-qq",
          "-o",
          "/dev/null",
          "-e",
          `trace=${fault.replace(/:.*/, "")}`,
          "-e",
          `inject=${fault}:when=${when}`,
        ];
        const cycle = { store: join(root, `fault-${i}`), notes, seed: when, compact: false, under };
        const ran = await runCycle(cycle, truth);
        truth = ran.truth;
        t.same(ran.result.violations, [], `the ${when}th call`);
        t.ok(ran.result.code !== 0, `exit code ${ran.result.code}`);
      }
    });
  }
}

if (whyNoDisk !== undefined) cannot("a full disk", whyNoDisk);
else {
  t.test("changes in the journal outlast a disk that another program fills", async (t) => {
    const place = join(root, "filled");
    mkdirSync(place);
    const disk = new CutDisk(place, 128 * 1024 * 1024);
    t.teardown(() => disk.dispose());
    const ballast = join(disk.path, "ballast");
    const path = join(disk.path, "store");
    const store = openLmdb({ path, identity: "orch", clock: systemClock });
    await store.commit([change("create", "first", 0)]);
    await store.commit([change("create", "second", 0)]);
    const fill = (): void => {
      const fd = openSync(ballast, "w");
      try {
        for (;;) writeSync(fd, Buffer.alloc(64 * 1024, 1));
      } catch (error) {
        t.match(error, { code: "ENOSPC" });
      }
      closeSync(fd);
    };
    fill();
    t.equal(Journal.make(disk.path), undefined, "a journal finds no room");
    t.same(
      readdirSync(disk.path).filter((name) => name.startsWith("journal")),
      [],
    );
    await t.rejects(store.commit([]), { name: "StoreError", kind: "full" }, "the tree cannot take them");
    await t.rejects(store.commit([change("create", "third", 0)]), { name: "StoreError", kind: "full" });
    await store.close();
    t.throws(() => openLmdb({ path, identity: "orch", clock: systemClock }), { name: "StoreError", kind: "full" });
    rmSync(ballast);
    const again = openLmdb({ path, identity: "orch", clock: systemClock });
    const keys: string[] = [];
    await again.replay((records) => void keys.push(...records.map(({ key }) => key)));
    t.same(keys, ["/registry/configmaps/first", "/registry/configmaps/second"]);
    t.same(await again.commit([change("create", "third", 0)]), [{ revision: 3 }]);
    await again.close();
  });

  t.test("a full disk refuses changes, lets one delete, and takes changes again when there is room", async (t) => {
    const disk = new CutDisk(root, 128 * 1024 * 1024);
    const ballast = join(disk.path, "ballast");
    writeFileSync(ballast, Buffer.alloc(16 * 1024 * 1024));
    const path = join(disk.path, "store");
    let store = openLmdb({ path, identity: "orch", clock: systemClock });
    t.teardown(async () => {
      await store.close();
      disk.dispose();
    });
    const live = new Map<string, number>();
    let made = 0;
    /** Creates objects of many sizes, ten at a time, until one is refused. */
    const fill = async (): Promise<string> => {
      for (let i = 0; i < 5000; i++) {
        const names = Array.from({ length: 10 }, () => `k${made++}`);
        const outcomes = await store.commit(
          names.map((name, n) =>
            change("create", name, 0, "", n % 3 === 0 ? 100 : n % 3 === 1 ? 9000 : 60_000 + 1000 * n),
          ),
        );
        for (const [n, outcome] of outcomes.entries()) {
          if ("revision" in outcome) live.set(names[n] as string, outcome.revision);
        }
        const refused = outcomes.find((outcome) => "refused" in outcome);
        if (refused !== undefined) return refused.refused;
      }
      return "never";
    };
    const remove = async (names: readonly string[]): Promise<void> => {
      const outcomes = await store.commit(names.map((name) => change("delete", name, live.get(name) as number)));
      for (const [n, outcome] of outcomes.entries()) if ("revision" in outcome) live.delete(names[n] as string);
      for (let done = false; !done; ) done = await store.compact(store.revision);
    };
    const stored = async (): Promise<Map<string, number>> => {
      const found = new Map<string, number>();
      await store.replay((records) => {
        for (const { key, prefix, revision, type } of records) {
          if (type === 3) found.delete(key.slice(prefix.length + 1));
          else found.set(key.slice(prefix.length + 1), revision);
        }
      });
      return found;
    };
    t.equal(await fill(), "full");
    t.same(await stored(), live, "reads go on");
    const copy = join(root, "copy");
    mkdirSync(copy);
    copyFileSync(join(path, "data.mdb"), join(copy, "data.mdb"));
    const copied = openLmdb({ path: copy, identity: "orch", clock: systemClock });
    t.equal(copied.revision, store.revision, "a start has nothing to write");
    await copied.close();
    for (let round = 0; round < 5; round++) {
      const before = live.size;
      const names = [...live.keys()].filter((_, i) => i % 3 === round % 3);
      while (names.length > 0) await remove(names.splice(0, 20));
      t.ok(live.size < before, `round ${round}: ${before - live.size} objects were deleted on the full disk`);
      t.same(await stored(), live);
      t.equal(await fill(), "full");
      t.ok(live.size > 0.75 * before, `round ${round}: their room was used again, ${live.size} objects are there`);
    }
    const before = live.size;
    rmSync(ballast);
    t.equal(await fill(), "full");
    t.ok(live.size > before, `${live.size - before} more objects fit where the ballast was`);
    await store.close();
    store = openLmdb({ path, identity: "orch", clock: systemClock });
    t.same(await stored(), live);
  });
}
