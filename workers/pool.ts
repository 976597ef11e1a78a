// Entry point of a pool thread: see src/pool/entry.cts, which opens it.
export { openTasks as open } from "../src/boot/tasks.ts";
