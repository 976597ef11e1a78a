// Names made of domains: `domain/path`, fully qualified names.
import { invalid, required } from "../../api/fielderror.ts";
import { isDns1123Subdomain, isHttpPath } from "../formats.ts";
import { type Errors, faults } from "./check.ts";

/** `acme.io/foo`: a domain and a path below it. */
export function checkDomainPath(out: Errors, path: string, value: string): void {
  if (value === "") {
    out.push(required(path));
    return;
  }
  const slash = value.indexOf("/");
  const domain = value.slice(0, slash);
  const rest = value.slice(slash + 1);
  if (slash < 0 || domain === "" || rest === "") {
    out.push(invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")'));
    return;
  }
  faults(out, path, domain, isDns1123Subdomain(domain));
  faults(out, path, rest, isHttpPath(rest));
}

/** A domain of at least three segments. */
export function checkFullyQualified(out: Errors, path: string, value: string): void {
  if (value === "") {
    out.push(required(path));
    return;
  }
  const messages = isDns1123Subdomain(value);
  if (messages.length > 0) {
    faults(out, path, value, messages);
    return;
  }
  if (value.split(".").length < 3) {
    out.push(invalid(path, value, "should be a domain with at least three segments separated by dots"));
  }
}
