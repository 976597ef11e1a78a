// Both formats of the log.
import t from "tap";
import { createLog } from "../../src/observe/log.ts";
import { textLine } from "../../src/observe/logtext.ts";

/** The lines two loggers write of the same messages. */
function written(format: "text" | "json"): string[] {
  const lines: string[] = [];
  const log = createLog("debug", "front-0", format, { write: (line) => void lines.push(line) });
  log.info({ code: 200, path: "/api/v1/pods", agent: "a b\nc" }, "Request");
  log.error({ err: new Error("broken") }, "A request met a fault");
  log.trace("not shown");
  return lines;
}

t.test("createLog() names levels in JSON", (t) => {
  const [request, fault, ...others] = written("json").map((line) => JSON.parse(line) as Record<string, unknown>);
  t.match(request, { level: "info", thread: "front-0", msg: "Request", code: 200 });
  t.match(request?.["time"], /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  t.match(fault, { level: "error", err: { message: "broken" } });
  t.same(others, []);
  t.end();
});

t.test("createLog() writes text for people, a line for each message but stacks", (t) => {
  const [request = "", fault = ""] = written("text");
  t.match(
    request,
    /^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {2}front-0 {6}Request {2}code=200 path=\/api\/v1\/pods agent="a b\\nc"\n$/,
  );
  const [first, ...stack] = fault.trimEnd().split("\n");
  t.match(first, /ERROR front-0 {6}A request met a fault$/);
  t.equal(stack[0], "    Error: broken");
  t.ok(stack.slice(1).every((line) => line.startsWith("    ")));
  t.equal(textLine("no JSON\n"), "no JSON\n");
  t.end();
});
