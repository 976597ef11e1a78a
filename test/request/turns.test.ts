// What one user's requests at once mean for another's.
import { MessageChannel } from "node:worker_threads";
import { limits } from "../../src/config/limits.ts";
import type { InProcess } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const maps = "/api/v1/namespaces/default/configmaps";
/** A body that is read on the front, and takes it a good while. */
const data = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`key-${index}`, "v".repeat(60)]));

/** Has one user ask often, and then another once; in which place the answer of that one came. */
async function placeOfOther(
  server: InProcess,
  many: (index: number) => ReturnType<InProcess["call"]>,
  count: number,
): Promise<number> {
  const { user } = server;
  const answers: string[] = [];
  const asked = async (name: string, ask: () => ReturnType<InProcess["call"]>): Promise<void> => {
    server.user = { ...user, name, groups: ["system:authenticated"] };
    const { code, text } = await ask();
    if (code >= 300) throw new Error(text);
    answers.push(name);
  };
  const ask = [
    ...Array.from({ length: count }, (_, index) => () => asked("many", () => many(index))),
    () => asked("few", () => server.call("POST", maps, { metadata: { name: "few" } })),
  ];
  // They come in one turn of the loop, each in a call of its own, as requests of many connections do.
  const { port1, port2 } = new MessageChannel();
  const all: Promise<void>[] = [];
  const sent = new Promise<void>((resolve) => {
    port2.on("message", (index: number) => {
      const next = ask[index];
      if (next !== undefined) all.push(next());
      if (index === count) resolve();
    });
  });
  for (let index = 0; index <= count; index += 1) port1.postMessage(index);
  await sent;
  port1.close();
  await Promise.all(all);
  server.user = user;
  return answers.indexOf("few");
}

scenario("large creates of one user at once do not hold up another's small one", async (t, server) => {
  const body = { metadata: { generateName: "large-" }, data };
  t.ok(JSON.stringify(body).length < limits.mergeHereBytesMax, "none goes to the pool");
  const place = await placeOfOther(server, () => server.call("POST", maps, body), 40);
  t.ok(place < 20, `after ${place} of 40`);
});

scenario("nor do creates with many owners, of which each is asked about", async (t, server) => {
  const ownerReferences = Array.from({ length: 500 }, (_, index) => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", name: `owner-${index}`, blockOwnerDeletion: true },
    uid: `00000000-0000-0000-0000-${String(index).padStart(12, "0")}`,
  }));
  const body = { metadata: { generateName: "owned-", ownerReferences } };
  const place = await placeOfOther(server, () => server.call("POST", maps, body), 40);
  t.ok(place < 20, `after ${place} of 40`);
});

scenario("a long list does not wait for those of another user that are under way", async (t, server) => {
  const body = { metadata: { generateName: "large-" }, data };
  const made = await Promise.all(Array.from({ length: 20 }, () => server.call("POST", maps, body)));
  t.ok(made.every(({ code }) => code === 201));
  const { user } = server;
  const ended: string[] = [];
  const list = async (name: string, onAbort: () => void): Promise<void> => {
    server.user = { ...user, name, groups: ["system:authenticated"] };
    const { code } = await server.call("GET", maps, undefined, {}, { onAbort });
    ended.push(`${name}: ${code}`);
  };
  // A stream asks to be told when its client goes away.
  let under = 0;
  const all: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const begun = (): void => {
      under += 1;
      if (under === 20) resolve();
    };
    for (let index = 0; index < 20; index += 1) all.push(list("many", begun));
  });
  t.same(ended, [], "all are under way");
  all.push(list("few", () => undefined));
  await Promise.all(all);
  server.user = user;
  t.equal(ended[0], "few: 200");
});

scenario("nothing is done for a client that went away while its request waited", async (t, server) => {
  const body = { metadata: { generateName: "large-" }, data };
  const lost = { metadata: { name: "lost" } };
  const place = await placeOfOther(
    server,
    (index) => {
      // There is no answer to wait for.
      if (index === 20) void server.call("POST", maps, lost, {}, { aborted: true });
      return server.call("POST", maps, body);
    },
    40,
  );
  t.ok(place < 20, `others wait: after ${place} of 40`);
  t.equal((await server.call("GET", `${maps}/lost`)).code, 404);
});
