// Bodies in protobuf, as controllers send them, with places for numbers (harness/template.ts). Fields of protobuf begin with
// their length, so that a place has as many digits as what it is filled with.
import { identities } from "../../src/api/identity.ts";
import { createScheme, type Scheme } from "../../src/api/scheme.ts";
import { Fault, parseJson } from "../../src/codec/engine/json.ts";
import { encodeProto } from "../../src/codec/proto/protobuf.ts";
import { decodeAs } from "../../src/request/body/body.ts";

/** Digits of a number in a message. */
export const digits = 9;

const place = new RegExp(`<n(?:%\\d+)?:${digits}>`, "g");
/** Numbers that stand in no body, for places while a message is made. */
const standFrom = 918_273_640;

let scheme: Scheme | undefined;

/**
 * The template of a message of kind `plural` in the core group, one character for each byte; `json` is the object, with
 * places for numbers of so many digits (`<n:9>`, `<n%2000:9>`). Throws where it is no such object.
 */
export function messageTemplate(plural: string, json: string): string {
  scheme ??= createScheme({ identity: identities.kubernetes });
  const places = [...new Set(json.match(place) ?? [])];
  const stands = places.map((_, index) => String(standFrom + index));
  const filled = places.reduce((text, found, index) => text.replaceAll(found, stands[index] as string), json);
  const resource = scheme.find("", "v1", plural);
  const value = parseJson(Buffer.from(filled));
  if (resource === undefined || value instanceof Fault) throw new Error(`No ${plural}: ${json.slice(0, 100)}`);
  const object = decodeAs(resource, value as Parameters<typeof decodeAs>[1]);
  if (object instanceof Fault) throw new Error(object.message);
  const bytes = Buffer.from(encodeProto(resource.message, object)).toString("latin1");
  return places.reduce((text, found, index) => text.replaceAll(stands[index] as string, found), bytes);
}
