import t from "tap";
import { messageOf } from "../../src/api/messages.ts";
import type { Message } from "../../src/api/schema.ts";
import { fieldText, messageText } from "../../src/openapi/openapitexts.ts";

t.test("every part of pods, services and deployments is described", (t) => {
  const rest: Message[] = ["core/v1.Pod", "core/v1.Service", "apps/v1.Deployment"].map(messageOf);
  const seen = new Set<Message>(rest);
  const missing: string[] = [];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (messageText(next.name) === undefined) missing.push(next.name);
    for (const { json, message } of next.fields) {
      const own = fieldText(next.name, json) ?? (message && messageText(message.name));
      if (own === undefined) missing.push(`${next.name}.${json}`);
      if (message === undefined || seen.has(message)) continue;
      seen.add(message);
      rest.push(message);
    }
  }
  t.strictSame(missing, []);
  t.ok(seen.size > 100);
  t.end();
});
