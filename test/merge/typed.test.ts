import fc from "fast-check";
import t from "tap";
import { messageOf } from "../../src/api/messages.ts";
import type { Value } from "../../src/api/value.ts";
import { SharedStateFailure } from "../../src/base/assert.ts";
import { typeOfMessage } from "../../src/merge/schema.ts";
import { checkType, compare, fieldSetOf, mergeTyped, removeItems, TypeFault } from "../../src/merge/typed.ts";
import { fromJson, toJson } from "../support/values.ts";

const container = typeOfMessage(messageOf("core/v1.Container"));

/** Lists around the length from which what is known of a list is kept. */
const list = fc.array(fc.record({ name: fc.nat(60).map((n) => `N${n}`), value: fc.constantFrom("a", "b") }), {
  maxLength: 80,
});

/** The same document, of which nothing is known. */
function copy(value: Value): Value {
  return fromJson(toJson(value));
}

function differenceText(before: Value, after: Value): string {
  const found = compare(container, before, after);
  if (found instanceof TypeFault) return found.message;
  return [found.added, found.modified, found.removed].map((set) => set.encode()).join();
}

t.test("long lists whose items are known give what unknown ones give", (t) => {
  const once = (from: readonly { name: string }[]): unknown[] => [
    ...new Map(from.map((item) => [item.name, item])).values(),
  ];
  fc.assert(
    fc.property(list, list, fc.boolean(), (left, right, twice) => {
      const live = fromJson(JSON.stringify({ env: twice ? left : once(left) }));
      const config = fromJson(JSON.stringify({ env: once(right) }));
      const faults = checkType(container, live)?.message;
      checkType(container, config);
      const merged = mergeTyped(container, live, config) as Value;
      const set = fieldSetOf(container, config);
      const removed = removeItems(container, merged, set);
      const same: [unknown, unknown][] = [
        [checkType(container, live)?.message, faults],
        [toJson(merged), toJson(mergeTyped(container, copy(live), copy(config)) as Value)],
        [differenceText(live, merged), differenceText(copy(live), copy(merged))],
        [differenceText(merged, removed), differenceText(copy(merged), copy(removed))],
        [fieldSetOf(container, merged).encode(), fieldSetOf(container, copy(merged)).encode()],
        [fieldSetOf(container, removed).encode(), fieldSetOf(container, copy(removed)).encode()],
        [toJson(removed), toJson(removeItems(container, copy(merged), fieldSetOf(container, copy(config))))],
      ];
      return same.every(([known, fresh]) => known === fresh);
    }),
    { numRuns: 300, seed: 4 },
  );
  t.end();
});

t.test("mergeTyped() leaves maps alone to which nothing is added", (t) => {
  const live = fromJson('{"name":"c","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}') as Map<string, Value>;
  const merged = mergeTyped(container, live, fromJson('{"env":[{"name":"A","value":"1"},{"name":"B","value":"3"}]}'));
  const [a, b] = (merged as Map<string, Value>).get("env") as Value[];
  const [first] = live.get("env") as Value[];
  t.equal(a, first);
  t.equal(toJson(b as Value), '{"name":"B","value":"3"}');
  t.equal(mergeTyped(container, live, fromJson('{"name":"c"}')), live);
  t.equal(toJson(live), '{"name":"c","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}');
  t.end();
});

t.test("compare() finds a list that was changed after it was indexed", (t) => {
  const items = Array.from({ length: 40 }, (_, n) => ({ name: `N${n}` }));
  const object = fromJson(JSON.stringify({ env: items })) as Map<string, Value>;
  t.equal(checkType(container, object), undefined);
  (object.get("env") as Value[]).pop();
  t.throws(() => compare(container, object, object), new SharedStateFailure("A list is changed that is shared"));
  t.end();
});
