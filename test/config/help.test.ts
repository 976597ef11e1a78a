// --help: the main text fits two screens, and every flag and gate is in some text.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { Flag } from "../../src/config/flag.ts";
import { flags, mainTopic } from "../../src/config/flags.ts";
import { gates } from "../../src/config/gates.ts";
import { helpText, helpTopics } from "../../src/config/help.ts";
import { printConfigCommand } from "../../src/config/schemacommand.ts";

const all: readonly Flag[] = flags;
const linesOf = (topic: string): string[] => (helpText(topic) ?? "").split("\n");
/** Lines of a text that begin with a flag. */
const flagsIn = (topic: string): string[] =>
  linesOf(topic).flatMap((line) => /^ {2}(?:-\w,| {3}) --([\w-]+)/.exec(line)?.[1] ?? []);

t.test("the main help fits two screens of 50 lines, and every text 100 columns", (t) => {
  t.ok(linesOf(mainTopic).length <= 100, `${linesOf(mainTopic).length} lines`);
  for (const topic of [mainTopic, ...helpTopics()]) {
    for (const line of linesOf(topic)) t.ok(line.length <= 100 && line === line.trimEnd(), line);
  }
  t.end();
});

t.test("every flag is in the help of its group, and the main help says where the others are", (t) => {
  const groups = new Set(all.map(({ group }) => group));
  for (const group of groups) {
    const own = all.filter((flag) => flag.group === group).map(({ name }) => name);
    t.same(flagsIn(group.toLowerCase()), own, group);
    const shown = own.filter((name) => flagsIn(mainTopic).includes(name));
    t.ok(shown.length > 0, group);
    if (shown.length < own.length) t.match(helpText(mainTopic), `--help ${group.toLowerCase()})`);
  }
  t.same(
    flagsIn("all"),
    all.map(({ name }) => name),
  );
  t.match(helpText(mainTopic), "--help gates");
  t.match(helpText(mainTopic), "config schema [NAME]");
  t.equal(helpText("none"), undefined);
  t.equal(helpText("API"), helpText("api"));
  t.end();
});

t.test("the help of gates has each that may be set", (t) => {
  const named = linesOf("gates").flatMap(
    (line) => /^ {2}(\w+)=true\|false \(\w+ - default=(\w+)\)$/.exec(line)?.[1] ?? [],
  );
  const settable = [...gates.values()].filter(({ stage }) => stage !== "GA").map(({ name }) => name);
  t.same(named, ["AllAlpha", "AllBeta", ...settable]);
  t.match(helpText("all"), helpText("gates") ?? "none");
  t.end();
});

t.test("config schema prints schemas, their names, or why not", async (t) => {
  const { spell } = identities.orch;
  const names = await printConfigCommand(["schema"], spell);
  t.match(names, /^audit-policy +--audit-policy-file\nadmission-configuration +--admission-control-config-file\n/);
  for (const line of String(names).split("\n")) {
    const name = line.split(" ")[0] ?? "";
    const printed = await printConfigCommand(["schema", name], spell);
    t.match(JSON.parse(String(printed)), { $schema: /2020-12/, title: name, type: "object" });
  }
  t.match(await printConfigCommand(["schema", "audit-policy"], spell), '"const": "audit.orch.io/v1"');
  t.match(await printConfigCommand(["schema", "audit-policy"], identities.kubernetes.spell), '"audit.k8s.io/v1"');
  t.match(await printConfigCommand(["schema", "constructor"], spell), {
    fault: /^config schema: there is no format "c/,
  });
  for (const words of [[], ["schemas"], ["schema", "kubeconfig", "more"]]) {
    t.match(await printConfigCommand(words, spell), { fault: /^usage: config schema/ });
  }
});
