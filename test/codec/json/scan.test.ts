// The JSON reader against Go's: what is a document, and what is said about one that is not (ATTACKS J04-J09).
import t from "tap";
import { NumberText, type Value } from "../../../src/api/value.ts";
import { Fault, parseJson, parseText, writeValue } from "../../../src/codec/engine/json.ts";
import { leastCostOf } from "../../support/cost.ts";

function parse(text: string): Value | Fault {
  return parseJson(Buffer.from(text));
}

/** A text for a test's name: printable ASCII only, because tap's protocol is made of lines. */
function shown(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Document, and how it is written again. */
const documents: readonly (readonly [sent: string, written: string])[] = [
  ["null", "null"],
  [" \t\r\n true \n", "true"],
  ["[]", "[]"],
  ["{}", "{}"],
  ["[ 1 , 2 ]", "[1,2]"],
  ['{"a":{"b":[]},"c":[{}]}', '{"a":{"b":[]},"c":[{}]}'],
  ['{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
  ['{"10":1,"9":2,"b":3}', '{"10":1,"9":2,"b":3}'],
  ["9007199254740993", "9007199254740993"],
  ["-9223372036854775808", "-9223372036854775808"],
  ["[0,-0,1.0,1e3,-1.5E+2,1e400]", "[0,-0,1.0,1e3,-1.5E+2,1e400]"],
  ['"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\"', '"A/\\u0008\\u000c\\n\\r\\t\\"\\\\"'],
  ['"<a>&\u2028\u2029\u007f"', '"\\u003ca\\u003e\\u0026\\u2028\\u2029\u007f"'],
  ['"\\ud83d\\ude00"', '"😀"'],
  ['"\\ud800"', '"\ufffd"'],
  ['"\\ud800\\ud800\\udc00x\\udc00"', '"\ufffd𐀀x\ufffd"'],
  ['"\\u0000"', '"\\u0000"'],
  ['{"\\u0000closed":1}', '{"\\u0000closed":1}'],
];

for (const [sent, written] of documents) {
  t.test(`parseJson() reads ${shown(sent)}`, async (t) => {
    const value = parse(sent);
    t.equal(value instanceof Fault ? value.message : writeValue(value), written);
  });
}

/** Text that is no document, and Go's words for it. */
const faults: readonly (readonly [sent: string, message: string])[] = [
  ["", "unexpected end of JSON input"],
  ["  ", "unexpected end of JSON input"],
  ["{", "unexpected end of JSON input"],
  ['{"a"', "unexpected end of JSON input"],
  ['{"a":', "unexpected end of JSON input"],
  ['{"a":1', "unexpected end of JSON input"],
  ['{"a":1,', "unexpected end of JSON input"],
  ["[1,", "unexpected end of JSON input"],
  ['"abc', "unexpected end of JSON input"],
  ['"a\\', "unexpected end of JSON input"],
  ['"\\u12', "unexpected end of JSON input"],
  ["tru", "unexpected end of JSON input"],
  ["-", "unexpected end of JSON input"],
  ["1.", "unexpected end of JSON input"],
  ["1e", "unexpected end of JSON input"],
  ["x", "invalid character 'x' looking for beginning of value"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
  ["\\", "invalid character '\\\\' looking for beginning of value"],
  ["NaN", "invalid character 'N' looking for beginning of value"],
  ["Infinity", "invalid character 'I' looking for beginning of value"],
  ["\ufeff{}", "invalid character 'ï' looking for beginning of value"],
  ["[1,]", "invalid character ']' looking for beginning of value"],
  ["[,]", "invalid character ',' looking for beginning of value"],
  ["{,}", "invalid character ',' looking for beginning of object key string"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ["{a:1}", "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
  ["[1 2]", "invalid character '2' after array element"],
  ["[1}", "invalid character '}' after array element"],
  ["{} x", "invalid character 'x' after top-level value"],
  ["01", "invalid character '1' after top-level value"],
  ["-x", "invalid character 'x' in numeric literal"],
  ["+1", "invalid character '+' looking for beginning of value"],
  ["1.x", "invalid character 'x' after decimal point in numeric literal"],
  ["1e+x", "invalid character 'x' in exponent of numeric literal"],
  ["trux", "invalid character 'x' in literal true (expecting 'e')"],
  ["nxll", "invalid character 'x' in literal null (expecting 'u')"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\u0001"', "invalid character '\\x01' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
  ["\u0000", "invalid character '\\x00' looking for beginning of value"],
];

for (const [sent, message] of faults) {
  t.test(`parseJson() refuses ${shown(sent)}`, async (t) => {
    const value = parse(sent);
    t.equal(value instanceof Fault ? value.message : writeValue(value), message);
  });
}

/** Bytes of a string's content, and what Go reads: one U+FFFD for each bad byte. */
const bytes: readonly (readonly [hex: string, text: string])[] = [
  ["c3a9", "é"],
  ["ff", "\ufffd"],
  ["c0af", "\ufffd\ufffd"],
  ["e28261", "\ufffd\ufffda"],
  ["eda080", "\ufffd\ufffd\ufffd"],
  ["f0908080", "𐀀"],
  ["f4908080", "\ufffd\ufffd\ufffd\ufffd"],
  ["f09080", "\ufffd\ufffd\ufffd"],
  ["61c3", "a\ufffd"],
];

for (const [hex, text] of bytes) {
  t.test(`parseJson() reads the bytes ${hex} as Go does`, async (t) => {
    t.equal(parseJson(Buffer.concat([Buffer.from('"'), Buffer.from(hex, "hex"), Buffer.from('"')])), text);
  });
}

t.test("parseJson() reads bytes in shared memory", async (t) => {
  const text = Buffer.from('{"a":"é"}');
  const shared = new Uint8Array(new SharedArrayBuffer(text.length));
  shared.set(text);
  t.same(parseJson(shared), new Map([["a", "é"]]));
});

t.test("parseJson() keeps integers exact and fractions as text", async (t) => {
  const value = parse("[1,9007199254740991,9007199254740993,-9223372036854775809,1.0,1e3]");
  t.same(value, [
    1,
    9007199254740991,
    9007199254740993n,
    -9223372036854775809n,
    new NumberText("1.0"),
    new NumberText("1e3"),
  ]);
});

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const nestedMaps = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

t.test("parseJson() nests to 10,000 and no further", async (t) => {
  for (const build of [nested, nestedMaps]) {
    const deep = parse(build(10_000));
    t.notOk(deep instanceof Fault, "10,000 levels");
    if (!(deep instanceof Fault)) t.equal(writeValue(deep), build(10_000), "and writes them");
    for (const depth of [10_001, 300_000]) {
      const value = parse(build(depth));
      t.match(value instanceof Fault && value.message, /^invalid character '[[{]' exceeded max depth$/, String(depth));
    }
  }
});

t.test("parseJson() takes a time linear in the size of hostile documents", async (t) => {
  const documents = [
    `[${"1,".repeat(700_000)}1]`,
    `"${"\\u0041".repeat(400_000)}"`,
    `{${Array.from({ length: 150_000 }, (_, i) => `"k${i}":1`).join(",")}}`,
    `[${"9".repeat(2_000_000)}]`,
    `"${"é".repeat(1_000_000)}"`,
  ];
  for (const document of documents) {
    const ms = await leastCostOf(1_500, () => t.notOk(parse(document) instanceof Fault));
    t.ok(ms <= 1_500, `${document.slice(0, 12)}… took ${ms} ms`);
  }
});

t.test("a long string is read and written as a short one is", (t) => {
  const characters = [
    '"',
    "\\",
    "\n",
    "\r",
    "\t",
    "\b",
    "\f",
    "\u0001",
    "\u007f",
    "<",
    ">",
    "&",
    "\u2028",
    "é",
    "😀",
    "a",
  ];
  for (const character of characters) {
    const short = writeValue(character).slice(1, -1);
    const long = `"${short.repeat(600)}"`;
    t.equal(writeValue(character.repeat(600)), long, `written: ${short}`);
    t.equal(parseText(long), character.repeat(600), `read: ${short}`);
  }
  t.equal(writeValue("\n\ud800".repeat(300)), `"${"\\n\\ufffd".repeat(300)}"`);
  t.equal(parseText(`"${"\\n\\ud800".repeat(300)}"`), "\n\ufffd".repeat(300));
  for (const fault of ["\\x", "\u0001", "\\u12g4", ""]) {
    const tell = (count: number): unknown => {
      const found = parseText(`"${"\\n".repeat(count)}${fault}`);
      return found instanceof Fault ? found.message : found;
    };
    t.type(tell(1), "string");
    t.equal(tell(600), tell(1), `fault: ${fault}`);
  }
  t.end();
});
