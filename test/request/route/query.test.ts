import t from "tap";
import { createHandler } from "../../../src/request/handle.ts";
import { first, parseQuery, unescapePath } from "../../../src/request/route/query.ts";
import { fronts, Stand } from "../../http/fronts.ts";
import { openInProcess } from "../../support/inprocess.ts";

t.test("parseQuery() keeps repeated keys in order and tells of what it cannot read", (t) => {
  const rows: [raw: string, expected: [string, string[]][], unreadable?: string[]][] = [
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
    ["a=%zz&b=1", [["b", ["1"]]], ["a=%zz"]],
    ["a=%2&b=1", [["b", ["1"]]], ["a=%2"]],
    ["a=1;b=2&c=3", [["c", ["3"]]], ["a=1;b=2"]],
    ["a=%ff&b=1&%ff=2", [["b", ["1"]]], ["a=%ff", "%ff=2"]],
    ["a=%c0%af&a=%ed%a0%80&a=%", [], ["a=%c0%af", "a=%ed%a0%80", "a=%"]],
    ["a=\u00c3\u00a9&\u00e9=1&\ufffd", [], ["a=\u00c3\u00a9", "\u00e9=1", "\ufffd"]],
    [
      "x=%C3%A9&y=%00",
      [
        ["x", ["é"]],
        ["y", ["\0"]],
      ],
    ],
  ];
  for (const [raw, expected, unreadable = []] of rows) {
    const found: string[] = [];
    t.same([...parseQuery(raw, found)], expected, raw);
    t.same(found, unreadable, raw);
  }
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

/** Ways to write a parameter that cannot be read; the name a refusal shows, and what would be right. */
const unreadable = (name: string, value: string): [query: string, shown: string, right: string][] => {
  const encoded = "it must be percent-encoded UTF-8";
  return [
    [`${name}=${value}%ff`, name, encoded],
    [`${name}=${value}%`, name, encoded],
    [`${name}=${value}%c0%af`, name, encoded],
    [`${name}=${value}\xff`, name, encoded],
    [`${name}=\xc3\xa9${value}`, name, encoded],
    [`${name}=${value};a=b`, name, "a semicolon must be sent as %3B"],
    [`a=b;${name}=${value}`, "a", "a semicolon must be sent as %3B"],
    [`${name}%ff=${value}`, `${name}%ff`, encoded],
    [`x=1&${name}=${value}%f0&y=2`, name, encoded],
  ];
};

for (const front of fronts.filter(({ secure }) => !secure)) {
  t.test(`${front.name}: a parameter that cannot be read is a 400 that names it, and nothing runs`, async (t) => {
    const server = await openInProcess();
    const stand = await Stand.open(front, undefined, createHandler(server.server));
    t.teardown(async () => {
      await stand.close();
      server.close();
    });
    const maps = "/api/v1/namespaces/default/configmaps";
    for (const name of ["a", "b"]) await server.call("POST", maps, { metadata: { name, labels: { x: name } } });
    const { revision } = server.store;
    const ask = async (method: string, target: string, body = ""): Promise<{ code: number; message: string }> => {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const head = `Host: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\nConnection: close`;
      const wire = await stand.ask(`${method} ${target} HTTP/1.1\r\n${head}\r\n\r\n${body}`, () => false);
      const text = wire.received;
      const json = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
      return { code: Number(text.slice(9, 12)), message: json === "" ? "" : JSON.parse(json).message };
    };
    const made = JSON.stringify({ metadata: { name: "new" } });
    const requests: [method: string, path: string, name: string, value: string, body?: string][] = [
      ["DELETE", maps, "labelSelector", "x%3Da"],
      ["DELETE", maps, "fieldSelector", "metadata.name%3Da"],
      ["DELETE", `${maps}/a`, "dryRun", "All"],
      ["POST", maps, "dryRun", "All", made],
      ["PUT", `${maps}/a`, "dryRun", "All", JSON.stringify({ metadata: { name: "a" }, data: { k: "v" } })],
      ["PATCH", `${maps}/a`, "dryRun", "All", JSON.stringify({ data: { k: "v" } })],
      ["GET", maps, "limit", "1"],
      ["GET", `${maps}/a`, "resourceVersion", "1"],
      ["GET", maps, "watch", "1"],
      ["GET", "/version", "timeout", "1s"],
      ["GET", "/healthz", "exclude", "etcd"],
      ["GET", "/nothing", "a", "b"],
      ["DELETE", "/apis/none/v1/things", "a", "b"],
    ];
    for (const [method, path, name, value, body] of requests) {
      for (const [query, shown, right] of unreadable(name, value)) {
        const { code, message } = await ask(method, `${path}?${query}`, body);
        const expected = `the query parameter ${JSON.stringify(shown)} cannot be read: ${right}`;
        // Node's parser refuses raw bytes by itself, in other words.
        const told = front.name === "node" && /[\x80-\xff]/.test(query) ? expected : message;
        t.strictSame([code, told], [400, expected], `${method} ${path}?${JSON.stringify(query)}`);
      }
    }
    // The name itself cannot be read: it is shown as it came, which fronts tell differently.
    t.equal((await ask("DELETE", `${maps}?\xffdryRun=All`)).code, 400);
    t.equal((await ask("DELETE", `${maps}?\xff`)).code, 400);
    t.equal((await ask("GET", `${maps}?${"\xff".repeat(2_000)}=1`)).message.length < 500, true, "bounded");
    t.equal(server.store.revision, revision, "nothing was stored");
    t.equal((await ask("DELETE", `${maps}?labelSelector=x%3Da`)).code, 200);
    t.equal((await server.call("GET", `${maps}/b`)).code, 200);
  });
}
