import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import t from "tap";
import { eventually } from "../server.ts";
import { noEtcd, noEtcdctl } from "./binary.ts";
import { Etcd } from "./etcd.ts";
import { base64, EtcdFault, rangeOf } from "./gateway.ts";
import type { Member } from "./member.ts";
import { Network, noNetwork } from "./network.ts";

t.setTimeout(240_000);

/** The value of a key; undefined: there is none. */
async function get(etcd: Etcd, key: string, revision = 0): Promise<string | undefined> {
  const { kvs = [] } = await etcd.call("/v3/kv/range", { key: base64(key), revision: String(revision) });
  return kvs[0] === undefined ? undefined : Buffer.from(kvs[0].value, "base64").toString();
}

async function refusal(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "none",
    (error) => (error instanceof EtcdFault ? error.message : "no answer"),
  );
}

t.test(
  "Etcd keeps what it acknowledged through a kill, waits through a pause, and forgets what is compacted",
  { skip: noEtcd },
  async (t) => {
    const etcd = await Etcd.open();
    t.teardown(() => etcd.close());
    const [member] = etcd.members as [Member];
    const first = await etcd.put("/a", "1");
    await member.kill();
    t.notOk(member.isRunning);
    await t.rejects(etcd.put("/a", "2"));
    member.restart();
    await member.healthy();
    t.equal(await get(etcd, "/a"), "1");

    member.pause();
    t.equal(
      await refusal(member.gateway.call("/v3/kv/put", { key: base64("/b"), value: base64("1") }, 300)),
      "no answer",
    );
    t.ok(member.isRunning);
    member.resume();
    await etcd.put("/a", "3");
    t.equal(await get(etcd, "/a", first), "1");
    await etcd.compact();
    t.match(await refusal(get(etcd, "/a", first)), /compacted/);
    t.match(etcd.flags("/x"), [`--etcd-servers=${member.url}`, "--etcd-prefix=/x"]);
    await etcd.remove("/a");
    t.equal(await get(etcd, "/a"), undefined);
  },
);

t.test(
  "Etcd.fill() raises the alarm that stops writes, and Etcd.empty() ends it without a restart",
  { skip: noEtcd },
  async (t) => {
    const etcd = await Etcd.open({ quotaBytes: 4 << 20 });
    t.teardown(() => etcd.close());
    await etcd.put("/a", "1");
    await etcd.fill();
    t.match(await refusal(etcd.put("/a", "2")), /space/);
    t.equal(await get(etcd, "/a"), "1", "reads go on");
    await etcd.empty();
    await etcd.put("/a", "3");
    t.equal(await get(etcd, "/a"), "3");
  },
);

t.test("Etcd.restore() goes back to a snapshot, with all members", { skip: noEtcdctl }, async (t) => {
  const etcd = await Etcd.open({ members: 3 });
  t.teardown(() => etcd.close());
  const kept = await etcd.put("/a", "1");
  const snapshot = await etcd.snapshot();
  await etcd.put("/a", "2");
  await etcd.restore(snapshot);
  t.equal(await get(etcd, "/a"), "1");
  t.equal(await etcd.revision(), kept);
  for (const member of etcd.members) t.equal((await member.status()).revision, kept);
});

t.test(
  "Etcd of three members with certificates and users goes on when its leader is killed",
  { skip: noEtcd },
  async (t) => {
    const etcd = await Etcd.open({ members: 3, tls: true, users: true });
    t.teardown(() => etcd.close());
    await etcd.put("/a", "1");
    const leader = await etcd.leader();
    await leader?.kill();
    t.ok(
      await eventually(() =>
        etcd.put("/a", "2", 500).then(
          () => true,
          () => false,
        ),
      ),
    );
    const next = await etcd.leader();
    t.ok(next !== undefined && next !== leader, "another one leads");
    leader?.restart();
    await etcd.healthy();
    t.match(etcd.flags(), [/^--etcd-servers=https:/, /prefix/, /--etcd-cafile=.+ca.crt/, /client.crt/, /client.key/]);
  },
);

t.test("Gateway.follow() tells changes as they are made", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open();
  t.teardown(() => etcd.close());
  const seen: string[] = [];
  const { gateway } = etcd.members[0] as Member;
  const watch = { create_request: { ...rangeOf("/a/"), start_revision: "1" } };
  const following = gateway.follow("/v3/watch", watch, ({ events = [] }) => {
    for (const { kv } of events) seen.push(Buffer.from(kv.key, "base64").toString());
  });
  await etcd.put("/a/1", "");
  await etcd.put("/b/1", "");
  await etcd.put("/a/2", "");
  t.ok(await eventually(() => seen.length === 2));
  t.same(seen, ["/a/1", "/a/2"]);
  following.end();
  await following.ended;
});

t.test("a member ends with the process that started it, however that ends", { skip: noEtcd }, async (t) => {
  const script = `
    const { Etcd } = await import(${JSON.stringify(new URL("./etcd.js", import.meta.url))});
    const etcd = await Etcd.open();
    console.log(etcd.dir + " " + etcd.endpoints[0]);
    await new Promise((resolve) => setTimeout(resolve, 60_000));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = await once(child.stdout, "data");
  const [dir = "", url = ""] = String(text).trim().split(" ");
  t.teardown(async () => void (await import("node:fs")).rmSync(dir, { recursive: true, force: true }));
  const answers = (): Promise<boolean> =>
    fetch(`${url}/health`).then(
      () => true,
      () => false,
    );
  t.ok(await answers());
  child.kill("SIGKILL");
  await once(child, "exit");
  t.ok(await eventually(async () => !(await answers())));
  t.ok(existsSync(dir), "only its folder stays");
});

t.test(
  "Network cuts members of an etcd off, in either direction, and heals",
  { skip: noEtcd || noNetwork },
  async (t) => {
    const network = await Network.open();
    t.teardown(() => network.close());
    const etcd = await Etcd.open({ members: 3, network });
    t.teardown(() => etcd.close());
    await etcd.put("/a", "1");
    const leader = (await etcd.leader()) as Member;
    const others = etcd.members.filter((member) => member !== leader);
    const hostOf = ({ url }: Member): string => new URL(url).hostname;

    network.cut(hostOf(leader), others.map(hostOf));
    const put = { key: base64("/a"), value: base64("2") };
    t.equal(await refusal(leader.gateway.call("/v3/kv/put", put, 300)), "no answer", "the minority takes nothing");
    const majority = (): Promise<boolean> =>
      (others[0] as Member).gateway.call("/v3/kv/put", put, 500).then(
        () => true,
        () => false,
      );
    t.ok(await eventually(majority), "the others go on");
    network.heal();
    await etcd.healthy();

    network.drop(hostOf(others[0] as Member), network.outside);
    t.equal(
      await refusal((others[0] as Member).gateway.call("/v3/maintenance/status", {}, 300)),
      "no answer",
      "no answer comes back",
    );
    t.ok(await (others[1] as Member).gateway.isHealthy());
    network.heal();
    t.ok(await eventually(() => (others[0] as Member).gateway.isHealthy()));
  },
);
