// Which bytes begin as a value of this server, and where the digits of its resource version go.
import t from "tap";
import { headOf } from "../../../src/storage/values/head.ts";

const lead = '{"kind":"Pod","apiVersion":"v1","metadata":{';

const ours: readonly string[] = [
  `${lead}"resourceVersion":""}}`,
  `${lead}"name":"a","resourceVersion":"","labels":{}}}`,
  `${lead}"name":"a","generateName":"b","namespace":"c","selfLink":"d","uid":"e","resourceVersion":""}}`,
  `${lead}"name":"é \\" \\\\","namespace":"\\"resourceVersion\\":\\"\\"","resourceVersion":""}}`,
];

const others: readonly string[] = [
  "",
  "{",
  "{}",
  lead,
  `${lead}}}`,
  `${lead}"resourceVersion":""`,
  `${lead}"resourceVersion":"5"}}`,
  `${lead}"name":"a"}}`,
  `${lead}"name":"a","labels":{"resourceVersion":""}}}`,
  `${lead}"name":"a","generation":1,"resourceVersion":""}}`,
  `${lead}"name":"a","finalizers":["resourceVersion",""],"resourceVersion":""}}`,
  `${lead}"name":"a" "resourceVersion":""}}`,
  `${lead}"name":"a""resourceVersion":""}}`,
  `${lead}"name" "a","resourceVersion":""}}`,
  `${lead}"name","resourceVersion":""}}`,
  `${lead}"name":"a","labels":{"a":"b"},"x":{"resourceVersion":""}}}`,
  `${lead}"name":"a`,
  `${lead} "resourceVersion":""}}`,
  '{"kind":"Pod","apiVersion":"v1","metadata":["resourceVersion":""]}',
  '{"kind":"Pod","apiVersion":"v1","spec":{"resourceVersion":""}}',
  '{"kind":"Pod","metadata":{"resourceVersion":""}}',
  '{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":""}}',
  '[{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":""}}]',
  'k8s\0{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":""}}',
];

t.test("headOf() finds the gap in what this server writes", (t) => {
  for (const text of ours) {
    const bytes = Buffer.from(text);
    const head = headOf(bytes);
    t.match(head, { kind: "Pod", apiVersion: "v1", metadataAt: lead.length - 1 }, text);
    const at = head?.versionAt ?? 0;
    const spliced = Buffer.concat([bytes.subarray(0, at), Buffer.from("17"), bytes.subarray(at)]);
    const want = JSON.parse(text) as { metadata: { resourceVersion: string } };
    want.metadata.resourceVersion = "17";
    t.strictSame(JSON.parse(spliced.toString()), want, text);
  }
  t.end();
});

t.test("headOf() takes nothing else for one", (t) => {
  for (const text of others) t.equal(headOf(Buffer.from(text)), undefined, text);
  for (const text of ours) {
    const whole = Buffer.from(text);
    for (let end = 0; end < whole.length; end++) {
      // What is cut right behind an object looks whole.
      if (whole[end - 1] !== 0x7d) t.equal(headOf(whole.subarray(0, end)), undefined, `cut at ${end}`);
    }
  }
  t.end();
});
