// The log file: rotation, what is kept, compression, and writes that fail half way.
import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { linesOf as lines } from "../../src/audit/destination.ts";
import { LogFile, type LogFileConfig } from "../../src/audit/logfile.ts";
import { until } from "../support/inprocess.ts";

const start = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const dayMs = 86_400_000;

/** A folder for a test, and a clock that goes on by a second whenever it is read. */
function place(t: Test): { path: string; names: () => string[]; clock: { now(): number; monotonic(): number } } {
  const directory = mkdtempSync(join(tmpdir(), "orch-audit-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  let now = start - 1000;
  const clock = { now: () => (now += 1000), monotonic: () => 0 };
  return { path: join(directory, "audit.log"), names: () => readdirSync(directory).sort(), clock };
}

function config(path: string, more: Partial<LogFileConfig> = {}): LogFileConfig {
  return { path, format: "json", fileBytesMax: 25, backupsMax: 0, backupDaysMax: 0, compress: false, ...more };
}

t.test("write() puts a full file aside and never cuts a line", (t) => {
  const { path, names, clock } = place(t);
  const log = new LogFile(config(path), clock);
  t.teardown(() => log.close());
  t.equal(log.write(lines(['{"a":1}', '{"b":22}'])), undefined);
  t.equal(statSync(path).mode & 0o777, 0o600, "only the owner reads it");
  t.equal(log.write(lines(['{"c":333}'])), undefined);
  t.same(names(), ["audit-2026-01-02T03-04-05.678.log", "audit.log"]);
  t.equal(readFileSync(join(path, "..", names()[0] ?? ""), "utf8"), '{"a":1}\n{"b":22}\n');
  t.equal(readFileSync(path, "utf8"), '{"c":333}\n');
  const many = Array.from({ length: 10 }, (_, index) => `{"many":${index}}`);
  t.equal(log.write(lines(many)), undefined);
  const all = names().map((name) => readFileSync(join(path, "..", name), "utf8"));
  for (const text of all) t.ok(Buffer.byteLength(text) <= 25, "no file is larger than its bound");
  t.equal(all.join("").match(/many/g)?.length, 10, "nothing is lost");
  t.equal(
    log.write(lines([`{"long":"${"x".repeat(100)}"}`])),
    undefined,
    "a line longer than a file has one for itself",
  );
  t.equal(readFileSync(path, "utf8").length, 112);
  t.end();
});

t.test("LogFile goes on where the file ends", (t) => {
  const { path, names, clock } = place(t);
  writeFileSync(path, '{"old":true}\n');
  const log = new LogFile(config(path), clock);
  t.teardown(() => log.close());
  t.equal(log.write(lines(['{"n":1}'])), undefined);
  t.equal(readFileSync(path, "utf8"), '{"old":true}\n{"n":1}\n');
  t.equal(log.write(lines(['{"n":2}'])), undefined);
  t.equal(names().length, 2);
  t.end();
});

t.test("LogFile keeps so many files, so long, compressed", async (t) => {
  const { path, names, clock } = place(t);
  const old = `audit-${new Date(start - 3 * dayMs).toISOString().slice(0, -1).replaceAll(":", "-")}.log`;
  writeFileSync(join(path, "..", old), "old\n");
  writeFileSync(join(path, "..", "audit-notes.log"), "somebody else's\n");
  const aged = new LogFile(config(path, { backupDaysMax: 2 }), clock);
  await aged.tidied();
  aged.close();
  t.same(names(), ["audit-notes.log", "audit.log"], "what is too old goes, what has no time stays");
  const log = new LogFile(config(path, { backupsMax: 2, compress: true }), clock);
  t.teardown(() => log.close());
  for (let index = 0; index < 5; index += 1) t.equal(log.write(lines([`{"number":${1_000_000 + index}}`])), undefined);
  await log.tidied();
  const packed = names().filter((name) => name.endsWith(".gz"));
  t.equal(packed.length, 2);
  t.same(names(), ["audit-notes.log", "audit.log", ...packed].sort());
  const texts = packed.map((name) => gunzipSync(readFileSync(join(path, "..", name))).toString());
  t.same(texts, ['{"number":1000002}\n', '{"number":1000003}\n'], "the newest are kept");
});

t.test("write() says what the system says, and half a line does not stay", (t) => {
  const log = new LogFile(config("/dev/full"), { now: () => start, monotonic: () => 0 });
  t.teardown(() => log.close());
  t.match(log.write(lines(['{"a":1}'])), /ENOSPC/);
  t.match(log.write(lines(['{"a":1}'])), /ENOSPC/, "also the second time");
  t.end();
});

t.test("a file that another program took away is begun anew", (t) => {
  const { path, names, clock } = place(t);
  const log = new LogFile(config(path), clock);
  t.teardown(() => log.close());
  t.equal(log.write(lines(['{"number":1000000}'])), undefined);
  rmSync(path);
  t.equal(log.write(lines(['{"number":1000001}'])), undefined);
  t.same(names(), ["audit.log"]);
  t.equal(readFileSync(path, "utf8"), '{"number":1000001}\n');
  t.end();
});

t.test("a pipe whose reader is behind gets everything in order, unless the end comes first", async (t) => {
  const { path, clock } = place(t);
  t.equal(spawnSync("mkfifo", [path]).status, 0);
  t.throws(() => new LogFile(config(path), clock), /ENXIO/, "no process reads");
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  t.teardown(() => closeSync(reader));
  const log = new LogFile(config(path), clock);
  t.teardown(() => log.close());
  const texts = Array.from({ length: 6 }, (_, index) => `${String(index).repeat(50_000)}\n`);
  const done = texts.map((text) => log.write(text));
  t.equal(done[0], undefined, "there is room for the first");
  t.ok(done[1] instanceof Promise);
  let all = "";
  const take = (): void => {
    const bytes = Buffer.alloc(100_000);
    try {
      for (let read = 1; read > 0; all += bytes.toString("latin1", 0, read)) read = readSync(reader, bytes);
    } catch {
      // Empty for now.
    }
  };
  t.ok(
    await until(() => {
      take();
      return all.length === 300_006;
    }),
  );
  t.same(
    await Promise.all(done),
    texts.map(() => undefined),
  );
  t.equal(all, texts.join(""));
  t.equal(log.write("again\n"), undefined, "then at once");
  const stuck = [log.write(texts.join("")), log.write("more\n")];
  log.hurry();
  t.same(await Promise.all(stuck), ["the reader of the pipe does not read", "the reader of the pipe does not read"]);
});

t.test("write() in the legacy format is a line of text", (t) => {
  const { path, clock } = place(t);
  const log = new LogFile(config(path, { format: "legacy", fileBytesMax: 10_000 }), clock);
  t.teardown(() => log.close());
  const event = {
    auditID: "id-1",
    stage: "ResponseComplete",
    requestURI: '/api/v1/namespaces/default/pods?x="',
    verb: "list",
    user: { username: "ann", groups: ["a", "b"] },
    impersonatedUser: { username: "bob" },
    sourceIPs: ["10.0.0.1", "10.0.0.2"],
    userAgent: "curl",
    objectRef: { namespace: "default" },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: "2026-01-02T03:04:05.000006Z",
  };
  const less = { user: {}, impersonatedUser: undefined, objectRef: undefined, responseStatus: undefined };
  t.equal(log.write(lines([JSON.stringify(event), JSON.stringify({ ...event, ...less })])), undefined);
  const head = '2026-01-02T03:04:05.000006Z AUDIT: id="id-1" stage="ResponseComplete" ip="10.0.0.1" method="list"';
  const tail = 'user-agent="curl" namespace="default" uri="/api/v1/namespaces/default/pods?x=\\"" response="200"';
  t.same(readFileSync(path, "utf8").split("\n"), [
    `${head} user="ann" groups="\\"a\\",\\"b\\"" as="bob" asgroups="<lookup>" ${tail}`,
    `${head} user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" ${tail.replace('"default"', '"<none>"').replace('"200"', '"<deferred>"')}`,
    "",
  ]);
  t.end();
});
