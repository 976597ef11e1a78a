// The gate on its own: what it lets through, what it refuses, and how header values leave.
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import { checkHead, encodeHeaderValue, isHeadFault } from "../../src/http/gate.ts";
import type { Headers } from "../../src/request/exchange/transport.ts";

const sound = [["host", "localhost:6443"]] as const;

function check(headers: Headers, { method = "GET", path = "/", query = "" } = {}): number {
  const checked = checkHead({ method, path, query, headers });
  return isHeadFault(checked) ? checked.code : 200;
}

t.test("checkHead() refuses what RFC 9110 and 9112 do not allow", (t) => {
  const cases: [string, Headers, number][] = [
    ["nothing special", [], 200],
    ["one length", [["content-length", "5"]], 200],
    [
      "two equal lengths",
      [
        ["content-length", "5"],
        ["content-length", "5"],
      ],
      400,
    ],
    [
      "two different lengths",
      [
        ["content-length", "5"],
        ["content-length", "6"],
      ],
      400,
    ],
    ["a list of lengths", [["content-length", "5,5"]], 400],
    ["a signed length", [["content-length", "+5"]], 400],
    ["a negative length", [["content-length", "-1"]], 400],
    ["a hexadecimal length", [["content-length", "0x5"]], 400],
    ["an empty length", [["content-length", ""]], 400],
    ["a length of 20 digits", [["content-length", "1".repeat(20)]], 400],
    ["chunked", [["transfer-encoding", "chunked"]], 200],
    [
      "chunked and a length",
      [
        ["transfer-encoding", "chunked"],
        ["content-length", "5"],
      ],
      400,
    ],
    ["two codings in one header", [["transfer-encoding", "gzip, chunked"]], 400],
    [
      "two codings in two headers",
      [
        ["transfer-encoding", "chunked"],
        ["transfer-encoding", "chunked"],
      ],
      400,
    ],
    ["another case", [["transfer-encoding", "Chunked"]], 400],
    ["another coding", [["transfer-encoding", "identity"]], 400],
    ["a coding with a parameter", [["transfer-encoding", "chunked;a=b"]], 400],
    ["a second Host", [["host", "localhost"]], 400],
    ["a tab in a value", [["x", "a\tb"]], 200],
    ["text beyond ASCII", [["x", "grüße"]], 200],
    ["a zero byte in a value", [["x", "a\0b"]], 400],
    ["a line end in a value", [["x", "a\r\nb"]], 400],
    ["DEL in a value", [["x", "\x7f"]], 400],
    ["a blank in a name", [["x ", "1"]], 400],
    ["an empty name", [["", "1"]], 400],
    ["a colon in a name", [["a:b", "1"]], 400],
    ["percent, dot and underscore in a name", [["impersonate-extra-a.b%2fc_d", "1"]], 200],
    ["an expectation of ours", [["expect", "100-Continue"]], 200],
    ["another expectation", [["expect", "200-ok"]], 417],
    [
      "as many headers as there may be",
      Array.from({ length: limits.headerCountMax - 1 }, (_, i) => [`x${i}`, "1"] as const),
      200,
    ],
    ["one more", Array.from({ length: limits.headerCountMax }, (_, i) => [`x${i}`, "1"] as const), 431],
    ["too many bytes", [["x", "a".repeat(limits.headBytesMax)]], 431],
  ];
  for (const [what, headers, code] of cases) t.equal(check([...sound, ...headers]), code, what);
  t.equal(check([]), 400, "no Host");
  t.end();
});

t.test("checkHead() refuses malformed hosts, methods and targets", (t) => {
  for (const host of ["", "a", "a:1", "127.0.0.1:80", "[::1]:443", "a.b-c_d"])
    t.equal(check([["host", host]]), 200, host);
  for (const host of ["a b", "a,b", "a/b", "a@b", "a\\b", "a#", "[::1", "a:b"])
    t.equal(check([["host", host]]), 400, host);
  for (const path of ["/", "/a%2Fb", "/grüße", "//", "/a;b=c"]) t.equal(check(sound, { path }), 200, path);
  for (const path of ["", "a", "*", "/a b", "/a#b", "/\x7f", "/\t"]) t.equal(check(sound, { path }), 400, path);
  t.equal(check(sound, { path: "*", method: "OPTIONS" }), 200, "OPTIONS *");
  t.equal(check(sound, { query: "a#b" }), 400, "a fragment");
  for (const method of ["", "GE T", "G\0T", "GET,"])
    t.equal(check(sound, { method }), 400, `method ${JSON.stringify(method)}`);
  t.equal(check(sound, { method: "CONNECT" }), 400, "a tunnel");
  t.end();
});

t.test("checkHead() tells how long the body is and whether the client closes", (t) => {
  const cases: [Headers, number | undefined, boolean, boolean?][] = [
    [[], 0, false],
    [[["content-length", "12"]], 12, false, true],
    [[["content-length", "0"]], 0, false, true],
    [[["transfer-encoding", "chunked"]], undefined, false, true],
    [[["upgrade", "websocket"]], 0, true],
    [[["connection", "close"]], 0, true],
    [[["connection", "keep-alive, Close"]], 0, true],
    [[["connection", "closed"]], 0, false],
  ];
  for (const [headers, length, close, framed = false] of cases) {
    const head = { method: "GET", path: "/", query: "", headers: [...sound, ...headers] };
    t.same(checkHead(head), { length, close, framed });
  }
  t.end();
});

t.test("encodeHeaderValue() lets no control byte through", (t) => {
  for (let byte = 0; byte < 0x100; byte++) {
    const encoded = encodeHeaderValue(`a${String.fromCharCode(byte)}b`);
    const control = (byte < 0x20 && byte !== 9) || byte === 0x7f;
    t.equal(encoded.length, control ? 5 : 3, `byte ${byte}`);
    t.notMatch(encoded, /[\x00-\x08\x0a-\x1f\x7f]/);
  }
  t.end();
});
