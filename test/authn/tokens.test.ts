// Static tokens: the file's grammar, and who a request's header makes its sender.
import t from "tap";
import { hashToken, parseTokens, staticTokens } from "../../src/authn/tokens.ts";

t.test("parseTokens() reads CSV", (t) => {
  const cases: [string, [string, string, string, string[]][]][] = [
    ["", []],
    ["t,alice,1", [["t", "alice", "1", []]]],
    ['t,alice,1,"a,b"\n', [["t", "alice", "1", ["a", "b"]]]],
    [
      "t,alice,1,a\r\nu,bob,2\r\n",
      [
        ["t", "alice", "1", ["a"]],
        ["u", "bob", "2", []],
      ],
    ],
    ['t,"al""ice",1', [["t", 'al"ice', "1", []]]],
    ["# a comment\n\nt,alice,1", [["t", "alice", "1", []]]],
    ["t,alice,1\nt,bob,2", [["t", "bob", "2", []]]],
    [",nobody,1\nt,alice,1", [["t", "alice", "1", []]]],
    ["t,__proto__,1,constructor", [["t", "__proto__", "1", ["constructor"]]]],
    ["t,alice,1,a,more", [["t", "alice", "1", ["a"]]]],
  ];
  for (const [csv, expected] of cases) {
    t.same(
      parseTokens(csv),
      expected.map(([token, name, uid, groups]) => ({ hash: hashToken(token), name, uid, groups })),
      JSON.stringify(csv),
    );
  }
  t.end();
});

t.test("parseTokens() names the line that is wrong, not what it holds", (t) => {
  const cases: [string, RegExp][] = [
    ["secret,alice", /^line 1 must have at least 3 columns .* found 2$/],
    ["t,alice,1\nsecret", /^line 2 .* found 1$/],
    ['t,alice,1\nsecret,"x', /^line 2: a quoted field does not end$/],
    ['secret,"x"y,1', /^line 1: text after a quoted field$/],
    ['sec"ret,x,1', /^line 1: a quote inside a field$/],
  ];
  for (const [csv, fault] of cases) {
    const parsed = parseTokens(csv);
    t.match(parsed, fault, JSON.stringify(csv));
    t.notMatch(parsed, /secret/);
  }
  t.end();
});

t.test("E10: staticTokens() knows the tokens of its list", (t) => {
  const tokens = parseTokens('abc,alice,1,"dev,ops"\ndef,bob,2,system:authenticated');
  if (typeof tokens === "string") throw new Error(tokens);
  const known = staticTokens(tokens);
  t.same(known.authenticateToken("abc", undefined), {
    user: { name: "alice", uid: "1", groups: ["dev", "ops"], extra: new Map() },
  });
  for (const wrong of ["", "ab", "abcd", "ABC", "__proto__", "abc "]) {
    t.equal(known.authenticateToken(wrong, undefined), undefined, JSON.stringify(wrong));
  }
  t.end();
});
