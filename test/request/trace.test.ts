import t from "tap";
import { type Answer, type InProcess, openInProcess, until } from "../support/inprocess.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const map = { metadata: { name: "m" }, data: { a: "1" } };

function timing(answer: Answer): string | undefined {
  return answer.headers.find(([name]) => name === "Server-Timing")?.[1];
}

/** Names of the stages; each has a duration that is a number. */
function allStages(answer: Answer): string[] {
  const parts = (timing(answer) ?? "").split(", ");
  return parts.map((part) => /^([a-z]+);dur=\d+\.\d{3}$/.exec(part)?.[1] ?? `not a duration: ${part}`);
}

/** The same without the wait for its turn, which a request has where others take long in the same one. */
function stages(answer: Answer): string[] {
  return allStages(answer).filter((stage) => stage !== "queue");
}

t.test("?trace=1 answers an administrator where the time of a request went", async (t) => {
  const server = await openInProcess();
  const before = ["resolve", "authenticate", "authorize", "negotiate"];
  const write = ["current", "merge", "default", "managers", "admit", "validate"];
  const end = ["encode", "commit", "answer", "total"];
  const merge = { "content-type": "application/merge-patch+json" };
  const cases: [string, Promise<Answer>, string[]][] = [
    ["create", server.call("POST", `${maps}?trace=1`, map), [...before, "body", "decode", ...write, ...end]],
    ["get", server.call("GET", `${maps}/m?pretty=true&trace=1`), [...before, "find", "answer", "total"]],
    ["list", server.call("GET", `${maps}?limit=5&trace=1&x=y`), [...before, "find", "answer", "total"]],
    ["page", server.call("GET", "/apis?trace=1"), ["resolve", "authenticate", "authorize", "answer", "total"]],
  ];
  for (const [name, call, wanted] of cases) t.strictSame(stages(await call), wanted, name);
  const patched = await server.call("PATCH", `${maps}/m?trace=1`, { data: { b: "2" } }, merge);
  t.strictSame(stages(patched), [...before, "body", "decode", ...write, ...end]);
  const deleted = await server.call("DELETE", `${maps}/m?trace=1`);
  t.strictSame(stages(deleted), [...before, "body", "current", "validate", "admit", "commit", "answer", "total"]);
  const logged = (): string => Object.keys(server.lastRecord?.timing ?? {}).join();
  t.ok(await until(() => logged() === allStages(deleted).join()), "the log gets the same");
  server.close();
});

t.test("?trace=1 is ignored for other users, and other values for all", async (t) => {
  const server = await openInProcess();
  const untimed = async (name: string, asked: InProcess, target: string): Promise<void> => {
    t.equal(timing(await asked.call("GET", target)), undefined, name);
    t.equal(asked.lastRecord?.timing, undefined, name);
  };
  for (const query of ["", "?trace=0", "?trace=10", "?xtrace=1", "?trace", "?a=trace=1"]) {
    await untimed(query, server, maps + query);
  }
  server.user = { ...server.user, groups: ["system:authenticated"] };
  await untimed("another user", server, `${maps}?trace=1`);
  server.close();
});
