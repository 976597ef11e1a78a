// What /version says: the release of upstream whose behaviour this server has.

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
