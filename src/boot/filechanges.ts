// Files that may change while the server runs are looked at now and then; most file systems have no better way.
import { statSync } from "node:fs";

/** A function that says whether any of these files changed since it was asked before, or since now. */
export function changeOf(paths: readonly string[]): () => boolean {
  const look = (): string =>
    paths
      .map((path) => {
        const found = statSync(path, { throwIfNoEntry: false });
        return found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeMs}`;
      })
      .join();
  let before = look();
  return () => {
    const now = look();
    const changed = now !== before;
    before = now;
    return changed;
  };
}
