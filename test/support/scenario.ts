// Tests of the request path, each with a server of its own in this thread.
import t, { type Test } from "tap";
import type { IdentityName } from "../../src/api/identity.ts";
import { type InProcess, openInProcess } from "./inprocess.ts";

/** A test with a server of its own, in which nothing may end as a fault of ours. */
export function scenario(
  name: string,
  check: (t: Test, server: InProcess) => Promise<void>,
  identity: IdentityName = "kubernetes",
): void {
  t.test(name, async (t) => {
    const server = await openInProcess(identity);
    try {
      await check(t, server);
      t.strictSame(server.faults, []);
    } finally {
      server.close();
    }
  });
}
