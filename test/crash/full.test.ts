import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { type Answer, eventually, startServer } from "../support/server.ts";
import { noOwnStore } from "../support/servers/storage.ts";
import { CutDisk, whyNoPowerCut } from "./power.ts";

t.setTimeout(600_000);
const why = whyNoPowerCut();
const path = "/api/v1/namespaces/default/configmaps";
const object = (name: string): object => ({ metadata: { name }, data: { value: "v".repeat(200_000) } });

if (why !== undefined) {
  t.comment(`FULL DISK NOT TESTED: ${why}`);
  t.ok(true, `a server on a full disk needs root and a loop device: ${why}`);
} else {
  const title = "a server on a full disk refuses writes, goes on reading and watching, and recovers";
  t.test(title, { skip: noOwnStore }, async (t) => {
    const root = mkdtempSync(join(tmpdir(), "orch-full-"));
    const disk = new CutDisk(root, 128 * 1024 * 1024);
    const ballast = join(disk.path, "ballast");
    writeFileSync(ballast, Buffer.alloc(24 * 1024 * 1024));
    const server = await startServer(["--log-level=error"], join(disk.path, "data"));
    t.teardown(async () => {
      await server.stop("SIGTERM", false);
      disk.dispose();
      rmSync(root, { recursive: true, force: true });
    });
    const seen = new Set<string>();
    const close = server.watch(`${path}?watch=true`, ({ object }) =>
      seen.add((object["metadata"] as { name: string }).name),
    );
    const fill = async (round: string): Promise<Answer | undefined> => {
      for (let i = 0; i < 2000; i++) {
        const answer = await server.call("POST", path, object(`${round}-${i}`));
        if (answer.code !== 201) return answer;
      }
      return undefined;
    };
    const refused = await fill("first");
    t.match(refused?.json, { kind: "Status", status: "Failure" });
    t.comment(refused?.text.trim());
    t.ok((refused?.code ?? 0) >= 500, `answered ${refused?.code}`);
    const list = await server.call("GET", path);
    t.equal(list.code, 200);
    const items = list.json.items as { metadata: { name: string } }[];
    t.ok(await eventually(() => items.every(({ metadata }) => seen.has(metadata.name))), "the watch has seen them all");
    t.equal((await server.call("GET", "/readyz")).code, 200);
    const name = items[3]?.metadata.name;
    t.equal((await server.call("DELETE", `${path}/${name}`)).code, 200, "a delete is taken");
    rmSync(ballast);
    const again = await server.call("POST", path, object("again"));
    t.equal(again.code, 201, "there is room again");
    t.ok(await eventually(() => seen.has("again")), "and the watch sees it");
    close();
  });
}
