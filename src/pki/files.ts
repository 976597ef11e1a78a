// Small private files that are either there in whole or not at all: keys, certificates, tokens, client configuration.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";

/** Replaces a file in one step, with `mode` from its first byte on. Throws errors of the file system. */
export function writePrivate(path: string, text: string, mode: number): void {
  const scratch = `${path}.new`;
  writeDurably(scratch, text, mode);
  renameSync(scratch, path);
}

function writeDurably(path: string, text: string, mode: number): void {
  const fd = openSync(path, "w", mode);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces a key (mode 0600) and its certificate or public half (0644). A crash leaves both old files or both new ones,
 * once finishPair() was called: both drafts are on the disk before either takes its place, the key first.
 */
export function writePair(keyFile: string, publicFile: string, key: string, text: string): void {
  writeDurably(`${keyFile}.next`, key, 0o600);
  writeDurably(`${publicFile}.next`, text, 0o644);
  renameSync(`${keyFile}.next`, keyFile);
  renameSync(`${publicFile}.next`, publicFile);
}

/** Completes a writePair() that a crash interrupted when the key is in its place, else discards it. */
export function finishPair(keyFile: string, publicFile: string): void {
  if (existsSync(`${keyFile}.next`)) {
    rmSync(`${publicFile}.next`, { force: true });
    rmSync(`${keyFile}.next`, { force: true });
  } else if (existsSync(`${publicFile}.next`)) renameSync(`${publicFile}.next`, publicFile);
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
