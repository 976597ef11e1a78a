// Written by scripts/gen from proto/: do not edit.

/** version.Info. */
export interface Info {
  major: string;
  minor: string;
  gitVersion: string;
  gitCommit: string;
  gitTreeState: string;
  buildDate: string;
  goVersion: string;
  compiler: string;
  platform: string;
}
