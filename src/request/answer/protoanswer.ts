// Documents in protobuf. What is stored and what writes answer is JSON; it is decoded and encoded anew here.
import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Status } from "../../api/status.ts";
import { statusJson } from "../../api/statusjson.ts";
import { textAt, type Value } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { type Stretch, viewOf, wholeOf } from "../../base/copy.ts";
import { readCanonical } from "../../codec/engine/canonical.ts";
import { decode, Fault, parseOwn, textOf } from "../../codec/engine/json.ts";
import { encodeEnvelope, encodeMessage, encodeProto } from "../../codec/proto/protobuf.ts";
import { transcode, transcoded } from "../../codec/proto/transcode.ts";

const statusMessage = messageOf("meta/v1.Status");

/** Kind and apiVersion, with which documents of ours begin, and the bytes to look for them in. */
const typeHead = /^\{"kind":"([\w.-]{1,100})","apiVersion":"([\w./-]{1,100})",/;
const typeHeadBytesMax = 240;

/** JSON of ours as protobuf: an object of `message`, or a Status. */
export function protoDocument(message: Message, json: Uint8Array): Uint8Array<ArrayBuffer> {
  const [, kind = "", apiVersion = ""] = typeHead.exec(textOf(json.subarray(0, typeHeadBytesMax))) ?? [];
  const isStatusFirst = kind === "Status" && apiVersion === "v1";
  const made = kind === "" || isStatusFirst ? undefined : transcoded(message, json);
  if (made !== undefined) return encodeEnvelope(apiVersion, kind, viewOf(made));
  const text = textOf(json);
  const object = isStatusFirst ? undefined : readCanonical<ApiObject>(message, text);
  if (object?.kind !== undefined) return encodeProto(message, object);
  const value = parseOwn(text);
  assert(value instanceof Map, "An answer is not a JSON object");
  const isStatus = value.get("kind") === "Status" && value.get("apiVersion") === "v1";
  return encodeTyped(isStatus ? statusMessage : message, value);
}

/** The message of the object of `message` that JSON of ours holds, without an envelope. */
export function messageBytes(message: Message, json: Uint8Array): Uint8Array<ArrayBuffer> {
  return transcode(message, json) ?? encodedMessage(message, json);
}

/** The same in memory that the next call writes to, or in its own: to be copied before. */
export function lentMessage(message: Message, json: Uint8Array): Stretch {
  return transcoded(message, json) ?? wholeOf(encodedMessage(message, json));
}

/** The same by way of the object, for what the transcoder leaves alone. */
export function encodedMessage(message: Message, json: Uint8Array): Uint8Array<ArrayBuffer> {
  return encodeMessage(message, objectOf(message, json));
}

/** A Status as protobuf. */
export function protoStatus(status: Status): Uint8Array<ArrayBuffer> {
  const value = parseOwn(statusJson(status));
  assert(!(value instanceof Fault), "Our own Status does not parse");
  return encodeTyped(statusMessage, value);
}

/** The object of `message` that JSON of ours holds. */
export function objectOf(message: Message, json: Uint8Array): ApiObject {
  const text = textOf(json);
  const object = readCanonical<ApiObject>(message, text);
  if (object !== undefined) return object;
  const value = parseOwn(text);
  assert(!(value instanceof Fault), "Our own JSON does not parse");
  return decoded(message, value);
}

/** The message of a kind's list: it stands beside the kind's own. */
export function listMessageOf({ message, listKind }: Resource): Message {
  return messageOf(`${message.name.slice(0, message.name.lastIndexOf(".") + 1)}${listKind}`);
}

function encodeTyped(message: Message, value: Value): Uint8Array<ArrayBuffer> {
  const object = decoded(message, value);
  if (value instanceof Map) {
    // What has no type in its Go struct still names it in the envelope.
    object.kind = textAt(value, "kind");
    object.apiVersion = textAt(value, "apiVersion");
  }
  return encodeProto(message, object);
}

function decoded(message: Message, value: Value): ApiObject {
  const object = decode<ApiObject>(message, value);
  assert(!(object instanceof Fault), "Our own JSON does not decode");
  return object;
}
