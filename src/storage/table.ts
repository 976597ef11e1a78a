// The storage engines. Each passes test/contract/.
import { openLmdb } from "./lmdb/store.ts";

/** Every engine: its name on the command line and how to open it. */
export const engines = [{ name: "lmdb", open: openLmdb }] as const;
