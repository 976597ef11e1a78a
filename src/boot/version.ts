// What /version says: the release of upstream whose behaviour this server has; and the program's own.
import { readFileSync } from "node:fs";

/** The program's own version. */
export function programVersion(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** The `version.Info` document, in upstream's key order. */
export function versionDocument(): string {
  return JSON.stringify({
    major: "1",
    minor: "23",
    gitVersion: "v1.23.17",
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: `node${process.versions.node}`,
    compiler: "tsc",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  });
}
