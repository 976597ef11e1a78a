import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { storeContract } from "../contract/store.ts";

const root = mkdtempSync(join(tmpdir(), "orch-lmdb-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let places = 0;

storeContract(t, { name: "lmdb", place: () => join(root, `store-${places++}`), open: openLmdb });
