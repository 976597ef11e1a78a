import t from "tap";
import { identities } from "../../src/api/identity.ts";
import {
  type Attributes,
  type Authorizer,
  alwaysAllow,
  alwaysDeny,
  type Decision,
  inOrder,
  masters,
} from "../../src/authz/authorizer.ts";
import { createAuthorization } from "../../src/authz/table.ts";
import { systemClock } from "../../src/base/clock.ts";
import { readConfig } from "../../src/config/config.ts";
import { isFlagFault, parseFlags } from "../../src/config/flags.ts";
import { openInProcess } from "../support/inprocess.ts";

const user = { name: "u", uid: "", groups: [] as string[], extra: new Map() };
const what: Attributes = {
  user,
  verb: "get",
  isResource: true,
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "",
  name: "",
  path: "",
};

function saying(decision: Decision, later: boolean): Authorizer {
  return { authorize: () => (later ? Promise.resolve(decision) : decision) };
}

t.test("inOrder() takes the first verdict, at once where it can", async (t) => {
  const none = { verdict: "none", reason: "" } as const;
  const cases: readonly (readonly [readonly Decision[], Decision])[] = [
    [[], none],
    [[none], none],
    [[none, { verdict: "allow", reason: "a" }, { verdict: "deny", reason: "d" }], { verdict: "allow", reason: "a" }],
    [[none, { verdict: "deny", reason: "d" }, { verdict: "allow", reason: "a" }], { verdict: "deny", reason: "d" }],
    [
      [
        { verdict: "none", reason: "x" },
        { verdict: "none", reason: "", error: "e" },
        { verdict: "none", reason: "y" },
      ],
      { verdict: "none", reason: "x\ny", error: "e" },
    ],
    [
      [
        { verdict: "none", reason: "", error: "e" },
        { verdict: "none", reason: "", error: "f" },
      ],
      { verdict: "none", reason: "", error: "[e, f]" },
    ],
    [
      [
        { verdict: "none", reason: "", error: "e" },
        { verdict: "allow", reason: "" },
      ],
      { verdict: "allow", reason: "" },
    ],
  ];
  for (const [decisions, wanted] of cases) {
    t.strictSame(inOrder(decisions.map((decision) => saying(decision, false))).authorize(what), wanted);
    for (const later of [0, 1]) {
      const mixed = inOrder(decisions.map((decision, index) => saying(decision, index % 2 === later)));
      t.strictSame(await mixed.authorize(what), wanted);
    }
  }
  const asked = inOrder([
    saying({ verdict: "deny", reason: "" }, false),
    { authorize: () => t.fail("asked") as never },
  ]);
  t.strictSame(asked.authorize(what), { verdict: "deny", reason: "" });
});

t.test("the modes of a server are asked in the order of the flag, after the administrators' group", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const verdict = async (modes: string, groups: string[]): Promise<string> => {
    const values = parseFlags([`--authorization-mode=${modes}`]);
    const config = isFlagFault(values) ? values.fault : readConfig(values);
    if (typeof config === "string") throw new Error(config);
    const { authorizer, rules } = createAuthorization({
      identity: identities.kubernetes,
      objects: server.objects,
      clock: systemClock,
      config: config.authorization,
      files: { policies: [], webhook: undefined },
    });
    const asked = { ...user, groups };
    const decision = await authorizer.authorize({ ...what, user: asked });
    return `${decision.verdict} ${decision.reason} ${rules.rulesFor(asked, "default").rules.length}`;
  };
  t.equal(await verdict("AlwaysAllow", []), "allow  2");
  t.equal(await verdict("AlwaysDeny", []), "none Everything is forbidden. 0");
  t.equal(await verdict("AlwaysDeny,AlwaysAllow", []), "allow  2");
  t.equal(await verdict("Node,RBAC", []), "none  0");
  for (const mode of ["AlwaysDeny", "RBAC", "Node", "AlwaysAllow"]) {
    t.match(await verdict(mode, ["system:masters"]), /^allow /, mode);
  }
  t.strictSame(alwaysAllow.authorize(what), { verdict: "allow", reason: "" });
  t.strictSame(alwaysDeny.authorize(what), { verdict: "none", reason: "Everything is forbidden." });
  t.strictSame(masters.authorize(what), { verdict: "none", reason: "" });
});
