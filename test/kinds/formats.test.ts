import t from "tap";
import {
  isConfigMapKey,
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isEnvVarName,
  isLabelValue,
  isName,
  isPathSegment,
  isPercent,
  isPortName,
  isPortNumber,
  isQualifiedName,
  isWildcardDns1123Subdomain,
} from "../../src/kinds/formats.ts";

type Check = (value: string) => string[];
const long = (count: number) => "a".repeat(count);
const cases: readonly [
  name: string,
  check: Check,
  fine: readonly string[],
  bad: readonly [value: string, starts: readonly string[]][],
][] = [
  [
    "isDns1123Label()",
    isDns1123Label,
    ["a", "0", "a-b", long(63)],
    [
      ["", ["a lowercase RFC 1123 label must"]],
      ["a.b", ["a lowercase RFC 1123 label must"]],
      [long(64), ["must be no more than 63 characters"]],
      [`${long(63)}_`, ["must be no more than 63", "a lowercase RFC 1123 label"]],
    ],
  ],
  [
    "isDns1123Subdomain()",
    isDns1123Subdomain,
    ["a", "a.b", long(253), "0.0"],
    [
      ["", ["a lowercase RFC 1123 subdomain"]],
      ["a..b", ["a lowercase RFC 1123 subdomain"]],
      ["a\n", ["a lowercase RFC 1123 subdomain"]],
      [long(254), ["must be no more than 253 characters"]],
    ],
  ],
  [
    "isWildcardDns1123Subdomain()",
    isWildcardDns1123Subdomain,
    ["*.a", "*.a.b"],
    [
      ["a.b", ["a wildcard DNS-1123 subdomain"]],
      ["*", ["a wildcard DNS-1123 subdomain"]],
    ],
  ],
  ["isDns1035Label()", isDns1035Label, ["a", "a-1"], [["1a", ["a DNS-1035 label must"]]]],
  [
    "isQualifiedName()",
    isQualifiedName,
    ["a", "A.b_c-d", "x.io/A", `${long(253)}/${long(63)}`],
    [
      ["", ["name part must be non-empty", "name part must consist"]],
      ["/k", ["prefix part must be non-empty"]],
      ["p/", ["name part must be non-empty", "name part must consist"]],
      ["a/b/c", ["a qualified name must consist"]],
      ["UP/x", ["prefix part a lowercase RFC 1123 subdomain"]],
      [long(64), ["name part must be no more than 63 characters"]],
      ["é", ["name part must consist"]],
    ],
  ],
  [
    "isLabelValue()",
    isLabelValue,
    ["", "a", "A_b"],
    [
      ["-x", ["a valid label must be"]],
      [long(64), ["must be no more than 63"]],
    ],
  ],
  [
    "isConfigMapKey()",
    isConfigMapKey,
    ["a", ".a", "_", "__proto__"],
    [
      ["", ["a valid config key"]],
      [".", ["must not be '.'"]],
      ["..", ["must not be '..'"]],
      ["..a", ["must not start with '..'"]],
      ["a/b", ["a valid config key"]],
    ],
  ],
  [
    "isEnvVarName()",
    isEnvVarName,
    ["a", "_A", "a.b"],
    [
      ["1a", ["a valid environment variable name"]],
      ["..", ["must not be '..'"]],
    ],
  ],
  [
    "isPercent()",
    isPercent,
    ["0%", "250%"],
    [
      ["1", ["a valid percent string"]],
      ["-1%", ["a valid percent string"]],
    ],
  ],
  [
    "isPortName()",
    isPortName,
    ["http", "a-1"],
    [
      ["", ["must contain only", "must contain at least one letter"]],
      ["80", ["must contain at least one letter"]],
      ["a--b", ["must not contain consecutive hyphens"]],
      ["-a", ["must not begin or end with a hyphen"]],
      [long(16), ["must be no more than 15 characters"]],
    ],
  ],
  [
    "isPathSegment()",
    isPathSegment,
    ["a:b", "A B", "..."],
    [
      [".", ["may not be '.'"]],
      ["a/b%", ["may not contain '/'", "may not contain '%'"]],
    ],
  ],
];

for (const [name, check, fine, bad] of cases) {
  t.test(`${name} tells good values from bad ones`, (t) => {
    for (const value of fine) t.strictSame(check(value), [], JSON.stringify(value.slice(0, 20)));
    for (const [value, starts] of bad) {
      const faults = check(value);
      t.equal(faults.length, starts.length, JSON.stringify(value.slice(0, 20)));
      for (const [index, start] of starts.entries()) t.ok(faults[index]?.startsWith(start), faults[index] ?? "none");
    }
    t.end();
  });
}

t.test("isDns1035Label() prints examples and the pattern as upstream does", (t) => {
  t.strictSame(isDns1035Label("9abc"), [
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
      "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ]);
  t.end();
});

t.test("isName() tolerates a trailing hyphen in a generateName only", (t) => {
  t.strictSame(isName("web-", "dns1123-subdomain", true), []);
  t.equal(isName("web-", "dns1123-subdomain", false).length, 1);
  t.strictSame(isName("..", "path-segment", true), []);
  t.end();
});

t.test("isPortNumber() accepts 1 to 65535, bigints included", (t) => {
  for (const port of [1, 65535, 80n]) t.strictSame(isPortNumber(port), []);
  for (const port of [0, -1, 65536, 2n ** 60n])
    t.strictSame(isPortNumber(port), ["must be between 1 and 65535, inclusive"]);
  t.end();
});
