// URLs: absolute, or paths from the root, in the parts that upstream's library has.
import { stringFormat } from "../stringformats.ts";
import { type Overload, overload } from "./overloads.ts";
import { Fault, type Frame, ListValue, MapValue, shortened, type UrlParts, UrlValue } from "./values.ts";

const isUri = stringFormat("uri");

function urlOf(frame: Frame, text: string): UrlValue | Fault {
  frame.spend(40 + 2 * Math.min(text.length, 4096));
  if (isUri?.test(text) !== true) {
    return new Fault(
      `URL parse error during conversion from string: parse "${shortened(text)}": invalid URI for request`,
    );
  }
  // The text is a URL: each part ends where the next one has to begin.
  const [, scheme = "", afterScheme = ""] = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(.*)$/s.exec(text) ?? [];
  const question = afterScheme.indexOf("?");
  const hierarchy = question < 0 ? afterScheme : afterScheme.slice(0, question);
  const slash = hierarchy.startsWith("//") ? hierarchy.indexOf("/", 2) : 0;
  const end = slash < 0 ? hierarchy.length : slash;
  const authority = hierarchy.slice(Math.min(2, end), end);
  return new UrlValue({
    text,
    scheme: scheme.toLowerCase(),
    host: authority.slice(authority.lastIndexOf("@") + 1),
    path: hierarchy.slice(end),
    query: question < 0 ? "" : afterScheme.slice(question + 1),
  });
}

function hostname({ host }: UrlParts): string {
  if (host.startsWith("[")) return host.slice(1, Math.max(1, host.indexOf("]")));
  const colon = host.indexOf(":");
  return colon < 0 ? host : host.slice(0, colon);
}

function port({ host }: UrlParts): string {
  const colon = host.indexOf(":", host.startsWith("[") ? host.indexOf("]") : 0);
  return colon < 0 ? "" : host.slice(colon + 1);
}

/** Values by their names, in the order of the text; what cannot be read is left out. */
function query(frame: Frame, { query: text }: UrlParts): MapValue {
  frame.spend(20 + 4 * text.length);
  const values = new Map<string, string[]>();
  for (const pair of text.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const equals = pair.indexOf("=");
    const name = unescaped(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : unescaped(pair.slice(equals + 1));
    if (name === undefined || value === undefined) continue;
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return new MapValue(new Map([...values].map(([name, list]) => [name, new ListValue(list)])));
}

function unescaped(text: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  const bytes = Buffer.from(text.replaceAll("+", " "));
  const read: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== 37) read.push(bytes[at] ?? 0);
    else {
      read.push(Number.parseInt(bytes.toString("latin1", at + 1, at + 3), 16));
      at += 2;
    }
  }
  return Buffer.from(read).toString();
}

/** The characters that Go leaves alone in a path. */
function escapedPath({ path }: UrlParts): string {
  return path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%[\]]+/g, (run) =>
    encodeURIComponent(Buffer.from(run).toString()),
  );
}

function reader(name: string, read: (parts: UrlParts) => string): Overload {
  return overload(`url.${name}(): string`, (frame, { parts }: UrlValue) => {
    frame.spend(parts.text.length / 4);
    return read(parts);
  });
}

/** The library of URLs. */
export const urlFunctions: readonly Overload[] = [
  overload("url(string): url", urlOf),
  overload("isURL(string): bool", (frame, text: string) => urlOf(frame, text) instanceof UrlValue),
  reader("getScheme", ({ scheme }) => scheme),
  reader("getHost", ({ host }) => host),
  reader("getHostname", hostname),
  reader("getPort", port),
  reader("getEscapedPath", escapedPath),
  overload("url.getQuery(): map<string, list<string>>", (frame, { parts }: UrlValue) => query(frame, parts)),
];
