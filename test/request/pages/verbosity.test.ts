import t from "tap";
import { masters } from "../../../src/authz/authorizer.ts";
import { openInProcess } from "../../support/inprocess.ts";

const path = "/debug/flags/v";

t.test("/debug/flags/v sets the verbosity for those who may", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const cases: readonly [string, string | undefined, number, RegExp, number | undefined][] = [
    ["GET", undefined, 406, /^unsupported http method\n$/, undefined],
    ["POST", "4", 406, /^unsupported http method\n$/, undefined],
    ["PUT", "4", 200, /^successfully set klog\.logging\.verbosity to 4\n$/, 4],
    ["PUT", "0", 200, /to 0\n$/, 0],
    ["PUT", "-1", 200, /to -1\n$/, -1],
    ["PUT", "", 400, /^failed set klog\.logging\.verbosity : strconv\.ParseInt: parsing "": invalid syntax\n$/, -1],
    ["PUT", "a\nb", 400, /parsing "a\\nb": invalid syntax\n$/, -1],
    ["PUT", "9".repeat(100), 400, /^failed/, -1],
  ];
  for (const [method, body, code, text, verbosity] of cases) {
    const answer = await server.call(method, path, body);
    t.equal(answer.code, code, `${method} ${body}`);
    t.match(answer.text, text);
    t.equal(answer.headers.find(([name]) => name === "Content-Type")?.[1], "text/plain");
    t.equal(server.verbosity, verbosity);
  }
  server.user = { ...server.user, groups: ["system:authenticated"] };
  server.authorizer = masters;
  const refused = await server.call("PUT", path, "6");
  t.strictSame([refused.code, refused.json.reason, server.verbosity], [403, "Forbidden", -1]);
});
