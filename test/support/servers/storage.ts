// Where the servers of the suite keep their data, as the environment says; test/support/server.ts follows it.
//
//   ORCH_TEST_STORAGE=etcd   on an etcd, each server of a test below a prefix of its own; default: lmdb, in its directory
//   ORCH_TEST_SERVERS=2      as two servers of that prefix, behind a balancer; with etcd only, default: 1
//   ORCH_TEST_ETCD=URL,URL   members of an etcd that runs; without it each test file that asks starts one
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { Etcd } from "../etcd/etcd.ts";
import { EtcdFault, Gateway, rangeOf } from "../etcd/gateway.ts";
import type { Member } from "../etcd/member.ts";

const backend = process.env["ORCH_TEST_STORAGE"] ?? "lmdb";
if (backend !== "lmdb" && backend !== "etcd") throw new Error(`ORCH_TEST_STORAGE=${backend} is neither lmdb nor etcd`);

/** How many servers each server of a test is. */
export const serverCount = Number(process.env["ORCH_TEST_SERVERS"] ?? 1);
if (serverCount !== 1 && serverCount !== 2) throw new Error("ORCH_TEST_SERVERS must be 1 or 2");
if (serverCount === 2 && backend !== "etcd") throw new Error("ORCH_TEST_SERVERS=2 needs ORCH_TEST_STORAGE=etcd");

/** Servers keep their data in an etcd. */
export const isOnEtcd = backend === "etcd";

/** For `skip` of tests that are about the directory in which an engine keeps its data: false where there is one. */
export const noOwnStore: string | false =
  isOnEtcd && "with ORCH_TEST_STORAGE=etcd what is about a directory with the data is left out";

/** For `skip` of tests that look into the one process of a server: false where it is one. */
export const noSingleServer: string | false =
  serverCount > 1 && `with ORCH_TEST_SERVERS=${serverCount} what looks into the process of a server is left out`;

/**
 * How long the controllers may stand still after their server was killed. The next server of a directory knows that the
 * former one is dead; on a shared store the lease of the dead one has to run out (15 s, and 2 s between two looks at it).
 */
export const takeoverMsMax = isOnEtcd ? 60_000 : 5_000;

const given = process.env["ORCH_TEST_ETCD"];
let opened: Promise<readonly string[]> | undefined;

/** The etcd of this process: URLs of its members. It ends with the process, and keeps it from nothing. */
async function endpoints(): Promise<readonly string[]> {
  opened ??= open();
  return opened;
}

async function open(): Promise<readonly string[]> {
  if (given !== undefined) {
    const members = given.split(",");
    await forgetFirst(new Gateway(members[0] ?? "", undefined));
    return members;
  }
  const etcd = await Etcd.open();
  etcd.leave();
  await forgetFirst((etcd.members[0] as Member).gateway);
  return etcd.endpoints;
}

/** How many of the first revisions are compacted. */
const forgotten = 4;

/**
 * Compacts the first revisions, which are of no server: as in a directory, the history of no server begins with 1, and
 * tests ask for that as for a version that is gone.
 */
async function forgetFirst(gateway: Gateway): Promise<void> {
  const key = Buffer.from("/test").toString("base64");
  for (let revision = 0; revision <= forgotten; ) {
    revision = Number((await gateway.call("/v3/kv/put", { key, value: key })).header.revision);
  }
  await gateway.call("/v3/kv/compaction", { revision: String(forgotten) }).catch((error: unknown) => {
    if (!(error instanceof EtcdFault) || !error.message.includes("compacted")) throw error;
  });
}

/** The prefix that belongs to a server's directory: a restart there finds what was stored. */
function prefixOf(dir: string): string {
  return `/test/${createHash("sha256").update(realpathSync(dir)).digest("hex").slice(0, 20)}`;
}

/** Whether arguments of a server say themselves where it keeps its data. */
export function namesStorage(args: readonly string[]): boolean {
  return args.some((arg) => /^--(storage-backend|etcd-servers)\b/.test(arg));
}

/** Flags of servers that keep what belongs to a directory. */
export async function storageFlags(dir: string): Promise<string[]> {
  return isOnEtcd ? [`--etcd-servers=${(await endpoints()).join()}`, `--etcd-prefix=${prefixOf(dir)}`] : [];
}

/** Removes what servers of a directory stored outside of it: all, or what is below a key. How many keys those were. */
export async function forgetStored(dir: string, below = ""): Promise<number> {
  if (!isOnEtcd) return 0;
  const [url = ""] = await endpoints();
  const { deleted } = await new Gateway(url, undefined).call(
    "/v3/kv/deleterange",
    rangeOf(`${prefixOf(dir)}${below}/`),
  );
  return Number(deleted ?? 0);
}
