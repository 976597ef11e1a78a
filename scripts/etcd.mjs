// Brings an etcd for the tests where there is none: the distribution's packages, unpacked in a folder of node_modules.
// They are not installed: a package of etcd starts a server of its own when it is. Where apt is not, tests say what they
// leave out.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { apt, run } from "./apt.mjs";

const packages = ["etcd-server", "etcd-client"];

/**
 * The path of an etcd: the one that is found (test/support/etcd/binary.ts), or one that is brought now; undefined: none is
 * to be had. What the tests call is built by now.
 */
export async function bringEtcd() {
  const { broughtEtcd, findEtcd } = await import("../dist/test/support/etcd/binary.js");
  const found = findEtcd();
  if (found !== undefined) return found;
  if (!unpack(broughtEtcd)) {
    console.log("No etcd here, and the distribution's packages could not be had: tests that need one are left out");
    return undefined;
  }
  console.log(`Brought etcd: the distribution's packages ${packages.join(" and ")}, in ${broughtEtcd}`);
  return findEtcd();
}

/**
 * Puts into the environment of tests where their servers keep data (test/support/servers/storage.ts): `etcd` is `own`, for one that
 * is started now, or URLs of one that runs; `servers`: how many processes each server of a test is. Returns how to end
 * what was started.
 */
export async function useEtcd({ etcd, servers }) {
  if (etcd !== undefined) process.env.ORCH_TEST_STORAGE = "etcd";
  if (servers !== undefined) process.env.ORCH_TEST_SERVERS = servers;
  if (etcd !== undefined && etcd !== "own") process.env.ORCH_TEST_ETCD = etcd;
  const { isOnEtcd } = await import("../dist/test/support/servers/storage.js");
  if (!isOnEtcd || process.env.ORCH_TEST_ETCD !== undefined) return async () => undefined;
  const { Etcd } = await import("../dist/test/support/etcd/etcd.js");
  const started = await Etcd.open();
  process.env.ORCH_TEST_ETCD = started.endpoints.join();
  return () => started.close();
}

/** Downloads and unpacks the packages into a folder, which appears whole or not at all; false when that is not possible. */
export function unpack(home) {
  const making = `${home}-${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    if (!apt(["download", ...packages], making)) return false;
    for (const file of readdirSync(making).filter((name) => name.endsWith(".deb"))) {
      if (!run("dpkg-deb", ["--extract", join(making, file), making], making)) return false;
      rmSync(join(making, file));
    }
    if (!existsSync(home)) renameSync(making, home);
    return true;
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
