// Where the servers of the suite keep their data, as the environment says; test/support/server.ts follows it.
//
//   ORCH_TEST_STORAGE=etcd   on an etcd, each server of a test below a prefix of its own; default: lmdb, in its directory
//   ORCH_TEST_SERVERS=2      as two servers of that prefix, behind a balancer; with etcd only, default: 1
//   ORCH_TEST_ETCD=URL,URL   members of an etcd that runs; without it each test file that asks starts one
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { Etcd } from "../etcd/etcd.ts";
import { Gateway, rangeOf } from "../etcd/gateway.ts";

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

const given = process.env["ORCH_TEST_ETCD"];
let own: Promise<Etcd> | undefined;

/** The etcd of this process: URLs of its members. It ends with the process, and keeps it from nothing. */
async function endpoints(): Promise<readonly string[]> {
  if (given !== undefined) return given.split(",");
  own ??= Etcd.open().then((etcd) => {
    etcd.leave();
    return etcd;
  });
  return (await own).endpoints;
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

/** Removes what servers of a directory stored outside of it. */
export async function forgetStored(dir: string): Promise<void> {
  if (!isOnEtcd) return;
  const [url = ""] = await endpoints();
  await new Gateway(url, undefined).call("/v3/kv/deleterange", rangeOf(`${prefixOf(dir)}/`));
}
