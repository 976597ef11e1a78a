import t from "tap";
import { first, parseQuery, unescapePath } from "../../src/request/query.ts";

t.test("parseQuery() keeps repeated keys in order and drops malformed pairs as Go does", (t) => {
  const rows: [raw: string, expected: [string, string[]][]][] = [
    ["", []],
    [
      "a=1&b=2&a=3",
      [
        ["a", ["1", "3"]],
        ["b", ["2"]],
      ],
    ],
    ["a", [["a", [""]]]],
    ["a=b=c", [["a", ["b=c"]]]],
    ["a=1+2%2B3", [["a", ["1 2+3"]]]],
    ["&&a=1&&", [["a", ["1"]]]],
    ["a=%zz&b=1", [["b", ["1"]]]],
    ["a=%2&b=1", [["b", ["1"]]]],
    ["a=1;b=2&c=3", [["c", ["3"]]]],
    ["a=%ff&b=1", [["b", ["1"]]]],
    ["x=%C3%A9", [["x", ["é"]]]],
  ];
  for (const [raw, expected] of rows) t.same([...parseQuery(raw)], expected, raw);
  t.end();
});

t.test("parseQuery() treats prototype names as data", (t) => {
  const query = parseQuery("__proto__=x&constructor=y&toString=z");
  t.equal(first(query, "__proto__"), "x");
  t.equal(first(query, "constructor"), "y");
  t.equal(first(query, "hasOwnProperty"), undefined);
  t.equal(({} as Record<string, unknown>)["x"], undefined);
  t.end();
});

t.test("unescapePath() decodes once and refuses what is not UTF-8", (t) => {
  const rows: [raw: string, expected: string | undefined][] = [
    ["/api/v1", "/api/v1"],
    ["/a%2Fb", "/a/b"],
    ["/a%252Fb", "/a%2Fb"],
    ["/a+b", "/a+b"],
    ["/%c3%a9", "/é"],
    ["/\u00c3\u00a9", "/é"],
    ["/%", undefined],
    ["/%4", undefined],
    ["/%c0%af", undefined],
    ["/%ed%a0%80", undefined],
  ];
  for (const [raw, expected] of rows) t.equal(unescapePath(raw), expected, raw);
  t.end();
});
