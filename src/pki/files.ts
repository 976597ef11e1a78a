// Small private files that are either there in whole or not at all: keys, certificates, tokens, client configuration.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";

/** Replaces a file in one step, with `mode` from its first byte on. Throws what the file system throws. */
export function writePrivate(path: string, text: string, mode: number): void {
  const scratch = `${path}.new`;
  const fd = openSync(scratch, "w", mode);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(scratch, path);
}

/** Text of a file; undefined when there is none. Throws on anything else. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
