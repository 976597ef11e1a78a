import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { isStatus } from "../../../src/api/status.ts";
import { readDeleteOptions, readWriteOptions } from "../../../src/request/body/options.ts";
import { parseQuery } from "../../../src/request/route/query.ts";

const identity = identities.kubernetes;
const all = 'supported values: "All"';

t.test("readWriteOptions() reads and checks as upstream does", (t) => {
  const check = (query: string, apply = false): unknown => {
    const options = readWriteOptions("PatchOptions", parseQuery(query), identity, apply);
    return isStatus(options) ? `${options.code} ${options.message}` : options;
  };
  const plain = { dryRun: false, fieldManager: "", fieldValidation: "", force: false };
  const refused = (what: string): string => `422 PatchOptions.meta.k8s.io "" is invalid: ${what}`;
  const table: [query: string, expected: unknown][] = [
    ["", plain],
    ["x=1&pretty=true", plain],
    ["dryRun=All", { ...plain, dryRun: true }],
    ["dryRun=All&dryRun=All", { ...plain, dryRun: true }],
    ["dryRun", { ...plain, dryRun: true }],
    ["dryRun=", { ...plain, dryRun: true }],
    ["dryRun=all", refused(`dryRun: Unsupported value: []string{"all"}: ${all}`)],
    ["dryRun=All&dryRun=Other", refused(`dryRun: Unsupported value: []string{"All", "Other"}: ${all}`)],
    ["fieldManager=me", { ...plain, fieldManager: "me" }],
    [`fieldManager=${"m".repeat(128)}`, { ...plain, fieldManager: "m".repeat(128) }],
    [`fieldManager=${"m".repeat(129)}`, refused("fieldManager: Too long: must have at most 128 bytes")],
    ["fieldManager=a%07", refused('fieldManager: Invalid value: "a\\a": invalid character U+0007 (at position 1)')],
    ["force=true", refused("force: Forbidden: may not be specified for non-apply patch")],
    ["force=0", refused("force: Forbidden: may not be specified for non-apply patch")],
    ["fieldValidation=Strict", { ...plain, fieldValidation: "Strict" }],
    [
      "fieldValidation=Hard",
      refused('fieldValidation: Unsupported value: "Hard": supported values: "Ignore", "Warn", "Strict"'),
    ],
  ];
  for (const [query, expected] of table) t.strictSame(check(query), expected, query);
  for (const yes of ["force", "force=", "force=true", "force=1", "force=maybe"]) {
    t.strictSame(check(`fieldManager=m&${yes}`, true), { ...plain, fieldManager: "m", force: true }, yes);
  }
  t.strictSame(check("fieldManager=m&force=0&force=1", true), { ...plain, fieldManager: "m" }, "the first counts");
  t.strictSame(check("fieldManager=m&force=false", true), { ...plain, fieldManager: "m" });
  t.equal(check("fieldManager=", true), refused("fieldManager: Required value: is required for apply patch"));
  t.end();
});

t.test("readDeleteOptions() takes the body, or the query when there is none", (t) => {
  const check = (query: string, body?: string): unknown => {
    const bytes = body === undefined ? undefined : { bytes: Buffer.from(body), format: "json" as const };
    const options = readDeleteOptions(bytes, parseQuery(query), identity);
    return isStatus(options) ? `${options.code} ${options.message}` : JSON.parse(show(options));
  };
  const show = (options: object): string =>
    JSON.stringify(options, (_key, value) => (typeof value === "bigint" ? Number(value) : value));
  const refused = (what: string): string => `422 DeleteOptions.meta.k8s.io "" is invalid: ${what}`;
  const policies = 'supported values: "Foreground", "Background", "Orphan", "nil"';
  const table: [query: string, body: string | undefined, expected: unknown][] = [
    ["", undefined, {}],
    ["", "", {}],
    ["gracePeriodSeconds=5&orphanDependents=0", undefined, { gracePeriodSeconds: 5, orphanDependents: false }],
    ["gracePeriodSeconds=-1", undefined, { gracePeriodSeconds: -1 }],
    ["gracePeriodSeconds=abc", undefined, '400 strconv.ParseInt: parsing "abc": invalid syntax'],
    ["gracePeriodSeconds=", undefined, '400 strconv.ParseInt: parsing "": invalid syntax'],
    [
      "gracePeriodSeconds=9223372036854775808",
      undefined,
      '400 strconv.ParseInt: parsing "9223372036854775808": value out of range',
    ],
    ["dryRun=All", undefined, { dryRun: ["All"] }],
    ["dryRun=Some", undefined, refused(`dryRun: Unsupported value: []string{"Some"}: ${all}`)],
    ["dryRun=Some", '{"propagationPolicy":"Orphan"}', refused(`dryRun: Unsupported value: []string{"Some"}: ${all}`)],
    ["dryRun", '{"propagationPolicy":"Orphan"}', { propagationPolicy: "Orphan", dryRun: ["All"] }],
    ["", '{"dryRun":[""]}', refused(`dryRun: Unsupported value: []string{""}: ${all}`)],
    ["dryRun=All", '{"propagationPolicy":"Orphan"}', { propagationPolicy: "Orphan", dryRun: ["All"] }],
    ["propagationPolicy=Foreground", '{"propagationPolicy":"Orphan"}', { propagationPolicy: "Orphan" }],
    ["propagationPolicy=Sideways", undefined, refused(`propagationPolicy: Unsupported value: "Sideways": ${policies}`)],
    [
      "",
      '{"propagationPolicy":"Orphan","orphanDependents":true}',
      refused(
        'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
      ),
    ],
    ["", '{"kind":"DeleteOptions","apiVersion":"apps/v1","gracePeriodSeconds":1}', { gracePeriodSeconds: 1 }],
    ["", "null", {}],
    [
      "",
      '{"kind":"Other","apiVersion":"v1"}',
      '400 no kind "Other" is registered for version "v1" in scheme "pkg/runtime/scheme.go:100"',
    ],
    [
      "",
      "not json",
      "400 couldn't get version/kind; json parse error: invalid character 'o' in literal null (expecting 'u')",
    ],
  ];
  for (const [query, body, expected] of table) {
    const options = check(query, body);
    if (typeof expected === "string") t.equal(options, expected, `${query} ${body}`);
    else t.has(options, expected, `${query} ${body}`);
  }
  t.match(
    check("", '{"gracePeriodSeconds":"x"}'),
    /^400 json: cannot unmarshal string into Go struct field DeleteOptions/,
  );
  t.end();
});
