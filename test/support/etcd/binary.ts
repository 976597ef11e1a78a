// Where etcd is on this machine. Tests never install it: `npm test` does before they start (scripts/etcd.mjs), into the
// folder named here.
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))));

/** Where scripts/etcd.mjs unpacks the distribution's packages `etcd-server` and `etcd-client`. */
export const broughtEtcd = join(root, "node_modules", ".orch-etcd");

/** Folders that are looked through after the path, in order. */
const usual = ["/usr/bin", "/usr/local/bin", join(broughtEtcd, "usr", "bin")];

/**
 * The etcd to test with: ORCH_ETCD (a path; throws when there is no such program), the path, the usual folders, and what
 * `npm test` brought. Undefined: there is none.
 */
export function findEtcd(): string | undefined {
  return named("ORCH_ETCD") ?? search("etcd", []);
}

/** etcdctl: ORCH_ETCDCTL, beside etcd, or as findEtcd() looks. It restores snapshots. */
export function findEtcdctl(): string | undefined {
  const etcd = findEtcd();
  return named("ORCH_ETCDCTL") ?? search("etcdctl", etcd === undefined ? [] : [dirname(etcd)]);
}

/** For `skip` of tests that need etcd: false where there is one. */
export const noEtcd: string | false =
  findEtcd() === undefined ? "no etcd here (ORCH_ETCD, PATH): nothing that needs one is tested" : false;

/** For `skip` of tests that restore snapshots. */
export const noEtcdctl: string | false =
  noEtcd !== false || findEtcdctl() !== undefined
    ? noEtcd
    : "no etcdctl here (ORCH_ETCDCTL, PATH): nothing is restored from snapshots of etcd";

function named(variable: string): string | undefined {
  const path = process.env[variable];
  if (path === undefined || path === "") return undefined;
  if (!existsSync(path)) throw new Error(`${variable}: there is no ${path}`);
  return path;
}

function search(name: string, first: readonly string[]): string | undefined {
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return [...first, ...path, ...usual].map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
