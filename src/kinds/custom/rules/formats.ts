// Formats of texts by name, as upstream's library has them.
import { isDns1035Label, isDns1123Label, isDns1123Subdomain, isLabelValue, isQualifiedName } from "../../formats.ts";
import { stringFormat } from "../stringformats.ts";
import { type Overload, overload } from "./overloads.ts";
import { FormatValue, type Frame, ListValue, none, Optional } from "./values.ts";

type Rule = FormatValue["faultsOf"];

/** Of what a name is made from: a dash at its end is followed by something. */
function prefixOf(rule: Rule): Rule {
  return (text) => rule(text.replace(/-$/, "a"));
}

function byFormat(name: string, why: string): Rule {
  const format = stringFormat(name);
  return (text) => (format?.test(text) === true ? [] : [why]);
}

const rules: readonly (readonly [name: string, rule: Rule])[] = [
  ["dns1123Label", isDns1123Label],
  ["dns1123Subdomain", isDns1123Subdomain],
  ["dns1035Label", isDns1035Label],
  ["dns1123LabelPrefix", prefixOf(isDns1123Label)],
  ["dns1123SubdomainPrefix", prefixOf(isDns1123Subdomain)],
  ["dns1035LabelPrefix", prefixOf(isDns1035Label)],
  ["qualifiedName", isQualifiedName],
  ["labelValue", isLabelValue],
  ["uri", byFormat("uri", "invalid URI for request")],
  ["uuid", byFormat("uuid", "does not match the UUID format")],
  ["byte", byFormat("byte", "invalid base64")],
  ["date", byFormat("date", "invalid date")],
  ["datetime", byFormat("date-time", "invalid datetime")],
];

const formats: ReadonlyMap<string, FormatValue> = new Map(
  rules.map(([name, rule]) => [name, new FormatValue(name, rule)]),
);

function validate(frame: Frame, { faultsOf }: FormatValue, text: string): Optional {
  frame.spend(40 + text.length);
  const faults = faultsOf(text);
  return faults.length === 0 ? none : new Optional(new ListValue(faults));
}

/** The library of formats. */
export const formatFunctions: readonly Overload[] = [
  ...[...formats].map(([name, format]) => overload(`@format.${name}(): format`, () => format)),
  overload("@format.named(string): optional<format>", (_, name: string) => new Optional(formats.get(name))),
  overload("format.validate(string): optional<list<string>>", validate),
];
