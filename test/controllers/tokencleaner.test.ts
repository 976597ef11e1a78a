// Bootstrap tokens go when their time is over, and not before.
import t from "tap";
import { TokenCleaner } from "../../src/controllers/tokencleaner.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { openInProcess, until } from "../support/inprocess.ts";

const secrets = "/api/v1/namespaces/kube-system/secrets";

t.test("TokenCleaner removes bootstrap tokens whose time is over, at the start and when it comes", async (t) => {
  const server = await openInProcess();
  const reports: string[] = [];
  const tokens = new TokenCleaner(server.writers);
  const cleaner = reconcilerOf(tokens, server.server.clock, (message) => void reports.push(message));
  const token = async (name: string, expiration: string | undefined, type = "bootstrap.kubernetes.io/token") => {
    const stringData = { "token-id": "abcdef", ...(expiration === undefined ? {} : { expiration }) };
    await server.call("POST", secrets, { metadata: { name }, type, stringData });
  };
  const at = (ms: number): string => new Date(server.nowMs + ms).toISOString();
  await token("old", at(-1000));
  cleaner.start();
  const there = async (name: string): Promise<boolean> => (await server.call("GET", `${secrets}/${name}`)).code === 200;
  t.ok(await until(async () => !(await there("old"))), "over at the start");
  await token("junk", "soon");
  t.ok(await until(async () => !(await there("junk"))), "a time that cannot be read");
  await token("later", at(3_600_000));
  await token("forever", undefined);
  await token("foreign", at(-1000), "Opaque");
  server.nowMs += 3_600_001;
  server.aheadMs += 3_600_001;
  await token("news", at(-1));
  t.ok(await until(async () => !(await there("later"))), "its time came");
  t.ok(await until(async () => !(await there("news"))));
  for (const name of ["forever", "foreign"]) t.ok(await there(name), name);
  t.same(reports, []);
  await cleaner.stop();
  server.close();
});
