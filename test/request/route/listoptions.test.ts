import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { isStatus } from "../../../src/api/status.ts";
import { parseListOptions, planList, validateListOptions } from "../../../src/request/route/listoptions.ts";
import { parseQuery } from "../../../src/request/route/query.ts";

/** The decision for a query: mode, revision and whether the limit counts; or code and message. */
function decide(raw: string): string {
  const options = parseListOptions(parseQuery(raw));
  if (isStatus(options)) return `${options.code} ${options.message}`;
  const invalid = validateListOptions(options, identities.kubernetes);
  if (invalid !== undefined)
    return `${invalid.code} ${(invalid.details?.causes ?? []).map((c) => c.message).join(" | ")}`;
  const plan = planList(options);
  if (isStatus(plan)) return `${plan.code} ${plan.message}`;
  return `${plan.mode}${plan.revision > 0 ? ` ${plan.revision}` : ""}${plan.paged && options.limit > 0 ? " paged" : ""}`;
}

const unless = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
const withContinue = "Forbidden: resourceVersionMatch is forbidden when continue is provided";

t.test("planList() follows the document's table", (t) => {
  const rows: [query: string, expected: string][] = [
    ["", "most-recent"],
    ["limit=2", "most-recent paged"],
    ["resourceVersion=0", "any"],
    ["resourceVersion=0&limit=2", "any"],
    ["resourceVersion=7", "not-older 7"],
    ["resourceVersion=7&limit=2", "exact 7 paged"],
    ["limit=2&continue=x", "continue paged"],
    ["limit=2&continue=x&resourceVersion=0", "continue paged"],
    ["limit=2&continue=x&resourceVersion=7", "400 specifying resource version is not allowed when using continue"],
    ["resourceVersionMatch=Exact&resourceVersion=7", "exact 7"],
    ["resourceVersionMatch=Exact&resourceVersion=7&limit=2", "exact 7 paged"],
    ["resourceVersionMatch=NotOlderThan&resourceVersion=0", "any"],
    ["resourceVersionMatch=NotOlderThan&resourceVersion=7&limit=2", "not-older 7 paged"],
    ["resourceVersionMatch=Exact", `422 ${unless}`],
    ["resourceVersionMatch=Exact&limit=2&continue=x", `422 ${unless} | ${withContinue}`],
    [
      "resourceVersionMatch=Exact&resourceVersion=0",
      '422 Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      "resourceVersionMatch=Bogus&resourceVersion=7",
      '422 Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      "resourceVersion=abc",
      '400 resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    [
      "resourceVersion=-1&limit=1",
      '400 invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
    ],
    [
      "resourceVersion=18446744073709551616",
      '400 resourceVersion: Invalid value: "18446744073709551616": strconv.ParseUint: parsing "18446744073709551616": value out of range',
    ],
    ["limit=", '400 strconv.ParseInt: parsing "": invalid syntax'],
    ["timeoutSeconds", '400 strconv.ParseInt: parsing "": invalid syntax'],
    ["limit=abc", '400 strconv.ParseInt: parsing "abc": invalid syntax'],
    ["limit=9223372036854775808", '400 strconv.ParseInt: parsing "9223372036854775808": value out of range'],
    [
      "watch=1&resourceVersionMatch=Exact&resourceVersion=1",
      "422 Forbidden: resourceVersionMatch is forbidden for watch",
    ],
    [
      "watch=1&sendInitialEvents=true",
      "422 Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    ],
    ["watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "most-recent"],
  ];
  for (const [query, expected] of rows) t.equal(decide(query), expected, query);
  t.end();
});
