// Documents in protobuf, made from JSON of ours in one way or the other.
import t from "tap";
import { messageOf, messages } from "../../../src/api/messages.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import { decode, encode, Fault, parseText } from "../../../src/codec/engine/json.ts";
import { encodeMessage, encodeProto, openEnvelope } from "../../../src/codec/proto/protobuf.ts";
import { messageBytes, protoDocument } from "../../../src/request/answer/protoanswer.ts";
import { ObjectSource } from "../../support/objects.ts";
import { draws, fuzzRun } from "../../support/random.ts";

t.test("protoDocument() has the kind, the version and the message of an object", (t) => {
  const run = fuzzRun(10);
  const source = new ObjectSource(draws(run.seed));
  let compared = 0;
  for (const message of messages.values()) {
    const kind = message.name.slice(message.name.indexOf(".") + 1);
    for (let round = 0; round < run.rounds; round += 1) {
      const value = parseText(source.json(message));
      const object = value instanceof Fault ? value : decode<ApiObject>(message, value);
      if (object instanceof Fault) throw new Error(`${message.name}: ${object.message}`);
      if (!message.typeMeta || kind === "Status") continue;
      Object.assign(object, { kind, apiVersion: "group.example/v1" });
      const json = Buffer.from(encode(message, object));
      compared += 1;
      if (!Buffer.from(protoDocument(message, json)).equals(encodeProto(message, object))) t.fail(json.toString());
      if (!Buffer.from(messageBytes(message, json)).equals(encodeMessage(message, object))) t.fail(json.toString());
    }
  }
  t.ok(compared > 100 * run.rounds, `${compared} documents of kinds`);
  t.end();
});

t.test("protoDocument() knows a Status where an object is expected, and names that are not where ours stand", (t) => {
  const pod = messageOf("core/v1.Pod");
  const typeOf = (json: string): string => {
    const envelope = openEnvelope(Buffer.from(protoDocument(pod, Buffer.from(json))));
    return "raw" in envelope ? `${envelope.apiVersion} ${envelope.kind} ${envelope.raw.length > 0}` : "none";
  };
  t.equal(typeOf('{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":200}'), "v1 Status true");
  t.equal(typeOf('{"kind":"Pod","apiVersion":"v1","metadata":{"name":"é日本"},"spec":{},"status":{}}'), "v1 Pod true");
  t.equal(typeOf('{"apiVersion":"v1","kind":"Pod","metadata":{},"spec":{},"status":{}}'), "v1 Pod true");
  t.end();
});
