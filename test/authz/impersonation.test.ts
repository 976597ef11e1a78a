// Acting as another user, with every gap that was ever left in it (ATTACKS A10).
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { isStatus } from "../../src/api/status.ts";
import type { Attributes, Authorizer } from "../../src/authz/authorizer.ts";
import { createImpersonation } from "../../src/authz/impersonation.ts";

type Header = readonly [name: string, value: string];

const admin = { name: "admin", uid: "1", groups: ["system:masters", "system:authenticated"], extra: new Map() };

/** Header fields written `name: value; name: value`. */
function headersOf(text: string): Header[] {
  return text
    .split("; ")
    .filter((field) => field !== "")
    .map((field): Header => [field.slice(0, field.indexOf(":")), field.slice(field.indexOf(":") + 1).trim()]);
}

/** `name uid [groups] {extra}`, the code of a refusal, or `not another`; and what was asked. */
async function told(
  fields: string,
  mayNot: (asked: Attributes) => boolean = () => false,
  clipped = false,
): Promise<[string, string[]]> {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    authorize(attributes) {
      const { verb, group, resource, subresource, namespace, name, user } = attributes;
      if (verb !== "impersonate" || user !== admin) throw new Error("another question");
      asked.push([group, resource, subresource, namespace, name].join("|"));
      return { verdict: mayNot(attributes) ? "none" : "allow", reason: "" };
    },
  };
  const acting = await createImpersonation(identities.kubernetes, authorizer)(headersOf(fields), admin, clipped);
  if (isStatus(acting)) return [String(acting.code), asked];
  if (acting === admin) return ["not another", asked];
  const extra = [...acting.extra].map(([key, values]) => `${key}=${values.join("+")}`).join(" ");
  return [`${acting.name} ${acting.uid} [${acting.groups.join(",")}] {${extra}}`, asked];
}

const user = "impersonate-user: tgt";
const account = "impersonate-user: system:serviceaccount:ns:sa";
const authenticated = "system:authenticated";
const own = "authentication.k8s.io";

t.test("impersonate() refuses names whose ends a front may have dropped", async (t) => {
  const read = { [user]: "200", [`${user}; impersonate-extra-a: `]: "200", "x-other: mil\u00e9s": "not another" };
  const whole = { "impersonate-user: \u00e9mile": "200", [`${user}; impersonate-group: a\u00e9b`]: "200", ...read };
  for (const [fields, expected] of Object.entries(whole)) {
    const [outcome] = await told(fields);
    t.equal(/^tgt|^\u00e9mile/.test(outcome) ? "200" : outcome, expected, fields);
  }
  const torn = [
    "impersonate-user: mil\u00e9s",
    `${user}; impersonate-group: a\u00e9b`,
    `${user}; impersonate-uid: a\u00e9b`,
    `${user}; impersonate-extra-a: a\u00e9b`,
    `${user}; impersonate-extra-a: `,
  ];
  for (const fields of torn) t.strictSame(await told(fields, undefined, true), ["400", []], fields);
  t.match((await told(user, undefined, true))[0], /^tgt/, "ASCII is taken");
  t.equal((await told("x-other: mil\u00e9s", undefined, true))[0], "not another", "other headers are not looked at");
});

t.test("A10: impersonate() asks for each thing separately and makes the user of the headers", async (t) => {
  const cases: readonly (readonly [string, string, string[]])[] = [
    ["", "not another", []],
    ["accept: x; authorization: y", "not another", []],
    ["impersonate-other: x", "not another", []],
    ["impersonate-user: ", "400", []],
    ["impersonate-uid: ", "400", []],
    ["impersonate-group: ", "400", []],
    [user, `tgt  [${authenticated}] {}`, ["|users|||tgt"]],
    [`${user}; impersonate-user: other`, `tgt  [${authenticated}] {}`, ["|users|||tgt"]],
    [`${user}; impersonate-group: a`, `tgt  [a,${authenticated}] {}`, ["|users|||tgt", "|groups|||a"]],
    [
      `${user}; impersonate-group: a; impersonate-group: b`,
      `tgt  [a,b,${authenticated}] {}`,
      ["|users|||tgt", "|groups|||a", "|groups|||b"],
    ],
    [`${user}; impersonate-group: a,b`, `tgt  [a,b,${authenticated}] {}`, ["|users|||tgt", "|groups|||a,b"]],
    [`${user}; impersonate-group: `, "400", []],
    [`${user}; impersonate-uid: `, "400", []],
    [`${user}; impersonate-extra-a: `, `tgt  [${authenticated}] {a=}`, ["|users|||tgt", `${own}|userextras|a||`]],
    [
      `${user}; impersonate-group: ${authenticated}`,
      `tgt  [${authenticated}] {}`,
      ["|users|||tgt", `|groups|||${authenticated}`],
    ],
    [
      `${user}; impersonate-group: system:unauthenticated`,
      "tgt  [system:unauthenticated] {}",
      ["|users|||tgt", "|groups|||system:unauthenticated"],
    ],
    [`${user}; impersonate-uid: u1`, `tgt u1 [${authenticated}] {}`, ["|users|||tgt", `${own}|uids|||u1`]],
    [
      `${user}; impersonate-extra-scope: a; impersonate-extra-scope: b`,
      `tgt  [${authenticated}] {scope=a+b}`,
      ["|users|||tgt", `${own}|userextras|scope||a`, `${own}|userextras|scope||b`],
    ],
    [
      `${user}; impersonate-extra-%73copes: a`,
      `tgt  [${authenticated}] {scopes=a}`,
      ["|users|||tgt", `${own}|userextras|scopes||a`],
    ],
    [
      `${user}; impersonate-extra-acme.example%2fkey: v`,
      `tgt  [${authenticated}] {acme.example/key=v}`,
      ["|users|||tgt", `${own}|userextras|acme.example/key||v`],
    ],
    [
      `${user}; impersonate-extra-%zz: a`,
      `tgt  [${authenticated}] {%zz=a}`,
      ["|users|||tgt", `${own}|userextras|%zz||a`],
    ],
    [
      `${user}; impersonate-extra-__proto__: a`,
      `tgt  [${authenticated}] {__proto__=a}`,
      ["|users|||tgt", `${own}|userextras|__proto__||a`],
    ],
    [`${user}; impersonate-extra-: a`, `tgt  [${authenticated}] {=a}`, ["|users|||tgt", `${own}|userextras|||a`]],
    [
      "impersonate-user: system:anonymous",
      "system:anonymous  [system:unauthenticated] {}",
      ["|users|||system:anonymous"],
    ],
    [
      "impersonate-user: system:anonymous; impersonate-group: system:authenticated",
      "system:anonymous  [system:authenticated,system:unauthenticated] {}",
      ["|users|||system:anonymous", `|groups|||${authenticated}`],
    ],
    [
      account,
      `system:serviceaccount:ns:sa  [system:serviceaccounts,system:serviceaccounts:ns,${authenticated}] {}`,
      ["|serviceaccounts||ns|sa"],
    ],
    [
      `${account}; impersonate-group: g`,
      `system:serviceaccount:ns:sa  [g,${authenticated}] {}`,
      ["|serviceaccounts||ns|sa", "|groups|||g"],
    ],
    ...[
      "system:serviceaccount:ns",
      "system:serviceaccount:ns:sa:x",
      "system:serviceaccount:N:sa",
      "system:serviceaccount::",
    ].map((name): [string, string, string[]] => [
      `impersonate-user: ${name}`,
      `${name}  [${authenticated}] {}`,
      [`|users|||${name}`],
    ]),
  ];
  for (const [fields, wanted, questions] of cases) t.strictSame(await told(fields), [wanted, questions], fields);
});

t.test(
  "A10: impersonate() refuses groups, extra values and uids without a user, and whatever is not allowed",
  async (t) => {
    const parts = ["impersonate-group: g", "impersonate-extra-a: b", "impersonate-uid: u"];
    const resources = ["groups", "userextras", "uids"];
    for (let mask = 1; mask < 8; mask++) {
      const some = parts.filter((_, index) => ((mask >> index) & 1) === 1).join("; ");
      t.strictSame(await told(some), ["400", []], some);
      t.strictSame(await told(`impersonate-user: ; ${some}`), ["400", []], `an empty user; ${some}`);
      for (const who of [user, account]) {
        for (const [index, resource] of resources.entries()) {
          const [outcome] = await told(`${some}; ${who}`, (asked) => asked.resource === resource);
          const isRefused = ((mask >> index) & 1) === 1;
          t.equal(outcome === "403", isRefused, `${some}; ${who} without ${resource}`);
        }
        const [outcome] = await told(`${some}; ${who}`, (asked) => /^(users|serviceaccounts)$/.test(asked.resource));
        t.equal(outcome, "403", `${some}; ${who} without the user`);
      }
    }
    const second = "impersonate-user: tgt; impersonate-group: a; impersonate-group: b";
    t.equal((await told(second, (asked) => asked.name === "b"))[0], "403", "the second group");
  },
);
