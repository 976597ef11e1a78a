// What depends on a member's release.

/** The first release of each minor one that says how far a watch is only when it is so (etcd issue 15220). */
const sound: readonly (readonly [minor: number, patch: number])[] = [
  [4, 25],
  [5, 8],
];

/** Whether a member of a release may be believed how far a watch is. */
export function isProgressSound(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (major !== 3) return major > 3;
  const known = sound.find(([each]) => each === minor);
  return known === undefined ? minor > 5 : patch >= known[1];
}
