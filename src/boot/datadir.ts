// The data directory before anything in it is opened: it is private, and it is whole. It holds the keys clients trust and
// everything that is stored, so one that others can read, or half of one, is not used as if nothing were wrong.
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { BootFault, mending } from "./fault.ts";

const permissionBits = 0o777;
const othersBits = 0o077;
/** What a server keeps there: a directory with one of these is a data directory. */
const own = ["store", "pki", "admin.token"];

/**
 * Makes the directory, or makes sure of one that is there. `storeFile`: what the store keeps its data in, if in a file.
 * Throws BootFault.
 */
export function openDataDir(path: string, storeFile: string | undefined): void {
  mending(`cannot make the data directory ${path}`, () => mkdirSync(path, { recursive: true, mode: 0o700 }));
  const { mode } = mending(`cannot read the data directory ${path}`, () => statSync(path));
  if ((mode & othersBits) !== 0) closeToOthers(path, mode);
  const isStarted = existsSync(join(path, "admin.token"));
  if (isStarted && storeFile !== undefined && !existsSync(join(path, "store", storeFile))) {
    throw new BootFault(
      `the data directory ${path} has credentials of an earlier start and no ${join("store", storeFile)}: restore it, ` +
        `or remove ${join(path, "admin.token")} to begin with an empty store`,
    );
  }
}

/** One of ours, or an empty one, is closed to others; any other may belong to other programs. */
function closeToOthers(path: string, mode: number): void {
  const shown = `0${(mode & permissionBits).toString(8)}`;
  const entries = mending(`cannot read the data directory ${path}`, () => readdirSync(path));
  const isOurs = entries.length === 0 || entries.some((entry) => own.includes(entry));
  const isSticky = (mode & 0o1000) !== 0;
  if (!isOurs || isSticky) {
    throw new BootFault(
      `the data directory ${path} is open to others (mode ${shown}): run chmod 700 ${path}, or use another --data-dir`,
    );
  }
  mending(`the data directory ${path} is open to others (mode ${shown}), and chmod 700 failed`, () =>
    chmodSync(path, 0o700),
  );
}
