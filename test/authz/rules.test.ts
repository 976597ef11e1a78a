import t from "tap";
import type { PolicyRule } from "../../src/api/gen/rbac/v1.ts";
import type { Attributes } from "../../src/authz/authorizer.ts";
import { may, visit } from "../../src/authz/policy/line.ts";
import { ruleAllows, TooManyRules, uncovered } from "../../src/authz/rules.ts";
import { leastCostOf } from "../support/cost.ts";

const user = { name: "u", uid: "", groups: [], extra: new Map() };
const resources = { isResource: true, group: "", version: "v1", subresource: "", namespace: "", name: "", path: "" };

/** `verb resource[/subresource][.group] [name]`, or `verb /path`. */
function asked(text: string): Attributes {
  const [verb = "", what = "", name = ""] = text.split(" ");
  if (what.startsWith("/")) return { ...resources, user, verb, isResource: false, resource: "", path: what };
  const [place = "", ...group] = what.split(".");
  const [resource = "", subresource = ""] = place.split("/");
  return { ...resources, user, verb, group: group.join("."), resource, subresource, name };
}

t.test("ruleAllows() matches as upstream", (t) => {
  const cases: readonly (readonly [PolicyRule, string, boolean])[] = [
    [may("get", "core", "pods"), "get pods x", true],
    [may("get", "core", "pods"), "list pods", false],
    [may("get", "core", "pods"), "get pods/log x", false],
    [may("get", "core", "pods"), "get pods.apps x", false],
    [may("*", "core", "pods"), "anything pods", true],
    [may("*", "core", "pods"), " pods", true],
    [may("get", "*", "pods"), "get pods.any.example", true],
    [may("get", "core", "*"), "get pods/log x", true],
    [may("get", "core", "pods/log"), "get pods/log x", true],
    [may("get", "core", "pods/log"), "get pods x", false],
    [may("get", "core", "pods/*"), "get pods/log x", false],
    [may("get", "core", "*/scale"), "get deployments/scale x", true],
    [may("get", "core", "*/scale"), "get deployments/status x", false],
    [may("get", "core", "*/scale"), "get scale x", false],
    [may("get", "core", "*/scale"), "get */scale x", true],
    [may("get", "core", "podsxlog"), "get pods/log x", false],
    [may("get", "core", "pods", "a b"), "get pods b", true],
    [may("get", "core", "pods", "a b"), "get pods c", false],
    [may("list", "core", "pods", "a"), "list pods", false],
    [may("list", "core", "pods", "a"), "list pods a", true],
    [may("create", "core", "pods", "a"), "create pods", false],
    [may("get", "core", "__proto__", "constructor"), "get __proto__ constructor", true],
    [may("get", "core", "__proto__"), "get constructor", false],
    [may("*", "*", "*"), "get /healthz", false],
    [visit("get", "*"), "get /healthz", true],
    [visit("get", "*"), "get pods", false],
    [visit("get", "/healthz"), "get /healthz", true],
    [visit("get", "/healthz"), "get /healthz/", false],
    [visit("get", "/healthz"), "post /healthz", false],
    [visit("get", "/apis/*"), "get /apis/apps/v1", true],
    [visit("get", "/apis/*"), "get /apis", false],
    [visit("get", "/api*"), "get /apis", true],
    [visit("get", "/api**"), "get /apis", true],
    [visit("get", "/a*c"), "get /abc", false],
    [{ verbs: ["get"] }, "get pods", false],
    [{}, "get pods", false],
  ];
  for (const [rule, question, wanted] of cases) {
    t.equal(ruleAllows(rule, asked(question)), wanted, `${JSON.stringify(rule)}: ${question}`);
  }
  t.end();
});

t.test("uncovered() finds what a user does not hold", (t) => {
  const cases: readonly (readonly [string, PolicyRule[], PolicyRule[], number])[] = [
    ["the same", [may("get list", "core", "pods")], [may("list get", "core", "pods")], 0],
    ["a part", [may("get list", "core apps", "pods nodes")], [may("list", "apps", "nodes")], 0],
    ["one verb more", [may("get", "core", "pods")], [may("get list", "core", "pods")], 1],
    [
      "spread over rules",
      [may("get", "core", "pods"), may("list", "core", "pods")],
      [may("get list", "core", "pods")],
      0,
    ],
    ["any verb needs any verb", [may("get list watch", "core", "pods")], [may("*", "core", "pods")], 1],
    ["any resource", [may("get", "core", "*")], [may("get", "core", "pods/log")], 0],
    ["resource against subresource", [may("get", "core", "pods")], [may("get", "core", "pods/log")], 1],
    ["subresource of anything", [may("get", "core", "*/scale")], [may("get", "core", "a/scale */scale")], 0],
    ["all names cover one", [may("get", "core", "pods")], [may("get", "core", "pods", "a")], 0],
    ["one name does not cover all", [may("get", "core", "pods", "a")], [may("get", "core", "pods")], 1],
    ["names", [may("get", "core", "pods", "a b")], [may("get", "core", "pods", "b c")], 1],
    ["paths", [visit("get", "/a/*")], [visit("get", "/a/b /a/* /c")], 1],
    ["any path", [visit("*", "*")], [visit("get", "* /x")], 0],
    ["a resource is no path", [may("*", "*", "*")], [visit("get", "/x")], 1],
    ["nothing", [], [], 0],
    ["an empty rule grants nothing", [], [{ verbs: ["get"] }], 0],
  ];
  for (const [name, held, wanted, missing] of cases) {
    const found = uncovered(held, wanted);
    t.equal(found instanceof TooManyRules ? -1 : found.length, missing, name);
  }
  t.end();
});

const many = (count: number, prefix: string): string =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`).join(" ");

t.test("F04: uncovered() does not take a product apart that is too large, and none that one rule covers", async (t) => {
  const bomb = may(many(400, "v"), many(400, "g"), many(400, "r"));
  const cpu = await leastCostOf(2_000, () => {
    t.same(uncovered([may("get", "core", "pods")], [bomb]), new TooManyRules(0));
    t.same(uncovered([may("*", "*", "*")], [bomb, bomb]), []);
    t.same(uncovered([bomb], [bomb]), []);
    const small = may(many(20, "v"), many(20, "g"), many(20, "r"));
    t.same(uncovered([], [small, small]), new TooManyRules(1), "what rules have together counts");
    t.equal((uncovered([], [small]) as PolicyRule[]).length, 8000);
  });
  t.ok(cpu <= 2_000, `${cpu} ms of CPU, where the product alone took a minute`);
});

t.test("uncovered() ends where a user holds too many rules to compare with", async (t) => {
  const held = Array.from({ length: 30_000 }, (_, index) => may(`v${index}`, "core", "pods"));
  const wanted = may(many(9_000, "w"), "core", "pods");
  const cpu = await leastCostOf(1_000, () => t.same(uncovered(held, [wanted]), new TooManyRules(0)));
  t.ok(cpu <= 1_000, `${cpu} ms`);
});
