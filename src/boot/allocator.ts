// What glibc's allocator is told. It reads its environment before anything of ours runs, so it has to be there when the
// process is started.

/**
 * Variables to start the server with: memory of 64 KiB or more is given back to the system when it is freed. By itself
 * the allocator raises that size to 32 MiB once something larger was freed, and keeps what unread answers held: 680 MiB
 * instead of 440 after 405 of them (test/e2e/unread.test.ts). What the uws build holds of events for peers that are behind
 * is up to 256 KiB for each, between what stays: 1,000 watches that came back held 50 MiB more with 256 KiB here. Other
 * systems ignore them.
 */
export const allocatorEnvironment = { MALLOC_MMAP_THRESHOLD_: "65536", MALLOC_TRIM_THRESHOLD_: "1048576" } as const;

/** A line for the operator when the process was started without them where they count; undefined else. */
export function allocatorAdvice(environment: Readonly<NodeJS.ProcessEnv>): string | undefined {
  if (process.platform !== "linux" || Object.keys(allocatorEnvironment).every((name) => name in environment)) return;
  const wanted = Object.entries(allocatorEnvironment).map(([name, value]) => `${name}=${value}`);
  return `memory of large answers may stay with the process; start it with ${wanted.join(" ")}, as npm start does`;
}
