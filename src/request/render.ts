// Answers with objects, in the form negotiated.
import { isStatus } from "../api/status.ts";
import { encodeEnvelope } from "../codec/proto/protobuf.ts";
import type { FormInput } from "./answer/form.ts";
import { formRefusal, formWriter } from "./answer/forms.ts";
import { partialListMessage, partialMessage } from "./answer/partial.ts";
import { listMessageOf } from "./answer/protoanswer.ts";
import { sendBytes, sendObject, sendStatus } from "./answer/response.ts";
import { isStatusDocument } from "./answer/table.ts";
import type { RequestContext } from "./call/call.ts";
import type { Written } from "./commit/writerequest.ts";
import type { Headers } from "./exchange/transport.ts";
import { shapeOf } from "./route/info.ts";

const encoder = new TextEncoder();

/** What writing the form negotiated takes; undefined: objects keep their own. */
export function formInput({ accepted, info, server }: RequestContext): FormInput | undefined {
  if (accepted.form === undefined) return undefined;
  return { form: accepted.form, resource: info.resource, identity: server.identity, now: () => server.clock.now() };
}

/** Sends an object of the request's kind (or a Status), which is there as JSON. */
export function answerObject(call: RequestContext, code: number, json: Uint8Array, more: Headers = []): void {
  const { reply, accepted, info } = call;
  const shape = shapeOf(info.resource, info.subresource);
  const input = formInput(call);
  if (input === undefined || isStatusDocument(json)) {
    return sendObject(reply, code, json, shape.message, accepted, more);
  }
  const refused = formRefusal(input.form, shape, false);
  if (refused !== undefined) return sendStatus(reply, refused, accepted);
  const document = formWriter(input, shape).document(json, true);
  sendObject(reply, code, document, partialMessage, accepted, more);
}

/** Sends an object that was written; its message in protobuf is there where that is asked for and was at hand. */
export function answerWritten(call: RequestContext, { code, body, message }: Written, more: Headers): void {
  if (message === undefined) return answerObject(call, code, body, more);
  call.reply.audit?.responded(body);
  answerMessage(call, code, message, more);
}

/** Sends an object of the request's kind, of which the message in protobuf is there. */
export function answerMessage(call: RequestContext, code: number, message: Uint8Array, more: Headers = []): void {
  const { apiVersion, kind } = call.info.resource;
  sendBytes(call.reply, code, encodeEnvelope(apiVersion, kind, message), call.accepted, more);
}

/** Sends a list of objects that are there as JSON, each a whole document. */
export function answerList(call: RequestContext, documents: readonly string[]): void {
  const { reply, accepted, info } = call;
  const { resource } = info;
  const input = formInput(call);
  if (input === undefined) {
    const head = `{"kind":"${resource.kind}","apiVersion":"${resource.apiVersion}",`;
    const items = documents.map((text) => `{${text.slice(head.length)}`).join(",");
    const { listKind, apiVersion } = resource;
    const list = `{"kind":"${listKind}","apiVersion":"${apiVersion}","metadata":{},"items":[${items}]}\n`;
    return sendObject(reply, 200, encoder.encode(list), listMessageOf(resource), accepted);
  }
  const refused = formRefusal(input.form, resource, true);
  if (isStatus(refused)) return sendStatus(reply, refused, accepted);
  const writer = formWriter(input, resource);
  const decoder = new TextDecoder();
  const items = documents.map((text) => decoder.decode(writer.item(encoder.encode(text))));
  const list =
    items.length === 0 ? writer.listOfNone({}) : `${writer.listHead({})}${items.join(",")}${writer.listFoot}`;
  sendObject(reply, 200, encoder.encode(list), partialListMessage, accepted);
}
