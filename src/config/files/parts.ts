// Parts that several file formats share.
import { Type } from "typebox";

/** Names in the identity's spelling (api/identity.ts). */
export type Spell = (canonical: string) => string;

/** A list of strings. */
export function strings(description: string) {
  return Type.Array(Type.String(), { description });
}

/** A list of names. */
export function names(description: string) {
  return Type.Array(Type.String({ minLength: 1 }), { description });
}

/** A DNS subdomain of RFC 1123, or empty. */
export function subdomain(description: string) {
  const label = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
  return Type.String({
    description,
    maxLength: 253,
    pattern: `^(?:${label}(?:\\.${label})*)?$`,
    patternErrorMessage: "a DNS subdomain: at most 253 lower case letters, digits, - and .",
  });
}
