// The engine that tests of several servers use keeps the contract they rely on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { sharedContract } from "../contract/shared.ts";
import { type Engine, storeContract } from "../contract/store.ts";
import { openShared, sharedTraits } from "../servers/sharedmemory.ts";

const root = mkdtempSync(join(tmpdir(), "orch-shared-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let places = 0;

const engine: Engine = {
  name: "shared memory",
  place: () => join(root, `store-${places++}`),
  open: openShared,
  isShared: true,
};

storeContract(t, engine);
sharedContract(t, engine, sharedTraits.overlap);
