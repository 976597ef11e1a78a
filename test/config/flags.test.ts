// The grammar of flags, what is wrong with one in a line, and the configuration they make.
import t from "tap";
import { readConfig } from "../../src/config/config.ts";
import { formatDuration, parseDuration } from "../../src/config/duration.ts";
import type { Flag } from "../../src/config/flag.ts";
import { flags, isFlagFault, parseFlags, parseMap } from "../../src/config/flags.ts";

const table: readonly Flag[] = [
  { name: "text", group: "A", type: "string", default: "x", help: "A text." },
  { name: "pick", group: "A", type: "string", default: "a", choices: ["a", "b"], help: "One of two." },
  { name: "count", group: "A", type: "int", default: "1", short: "c", min: 1, max: 10, help: "A number." },
  { name: "wait", group: "B", type: "duration", default: "1s", min: 0, max: 60_000, help: "A time." },
  { name: "on", group: "B", type: "bool", default: "false", short: "o", help: "A switch." },
  { name: "about", group: "B", type: "topic", default: "", short: "a", help: "A topic." },
  { name: "some-map", group: "B", type: "map", default: "", help: "A map." },
];

t.test("parseFlags() takes Go's grammar", (t) => {
  const cases: [string[], Record<string, string>][] = [
    [[], { text: "x", pick: "a", count: "1", wait: "1s", on: "false", "some-map": "" }],
    [["--text=a=b"], { text: "a=b" }],
    [["--text", "--on"], { text: "--on", on: "false" }],
    [["--text="], { text: "" }],
    [["--text=1", "--text=2"], { text: "2" }],
    [["--on"], { on: "true" }],
    [["--on=false"], { on: "false" }],
    [["--on", "--count", "3"], { on: "true", count: "3" }],
    [["-c", "4"], { count: "4" }],
    [["-c=4"], { count: "4" }],
    [["-c4"], { count: "4" }],
    [["-o"], { on: "true" }],
    [["--some-map=a=true", "--some-map", "b=false,c"], { "some-map": "a=true,b=false,c" }],
    [["--some_map=a"], { "some-map": "a" }],
    [["--about"], { about: "main" }],
    [["-a", "b"], { about: "b" }],
    [["--about=b", "--on"], { about: "b", on: "true" }],
    [["--about", "--on"], { about: "main", on: "true" }],
    [["--wait=0m0.5s"], { wait: "0m0.5s" }],
  ];
  for (const [args, expected] of cases) {
    const parsed = parseFlags(args, table);
    if (isFlagFault(parsed)) t.fail(`${args.join(" ")}: ${parsed.fault}`);
    else
      for (const [name, value] of Object.entries(expected))
        t.equal(parsed.get(name), value, `${args.join(" ")}: ${name}`);
  }
  t.end();
});

t.test("parseFlags() says in one line what is wrong", (t) => {
  const cases: [string[], string][] = [
    [["--none"], "unknown flag: --none"],
    [["-z"], "unknown flag: -z"],
    [["--constructor"], "unknown flag: --constructor"],
    [["more"], "unexpected argument: more"],
    [["--"], "unexpected argument: --"],
    [["--text"], "flag needs an argument: --text"],
    [["--count=x"], 'invalid argument "x" for "--count" flag: it must be a number'],
    [["--count=0"], 'invalid argument "0" for "--count" flag: it must be at least 1'],
    [["--count=11"], 'invalid argument "11" for "--count" flag: it must be at most 10'],
    [["--pick=c"], 'invalid argument "c" for "--pick" flag: it must be one of a, b'],
    [["--on=maybe"], 'invalid argument "maybe" for "--on" flag: it must be true or false'],
    [["--wait=5"], 'invalid argument "5" for "--wait" flag: it must be a duration, as in "1m30s"'],
    [["--wait=2m"], 'invalid argument "2m" for "--wait" flag: it must be at most 1m0s'],
    [["--some-map=a=b"], 'invalid argument "a=b" for "--some-map" flag: it must be key[=true|false], comma-separated'],
  ];
  for (const [args, fault] of cases) t.same(parseFlags(args, table), { fault }, args.join(" "));
  t.end();
});

t.test("parseDuration() reads what formatDuration() and Go write", (t) => {
  const cases: [string, number | undefined][] = [
    ["0", 0],
    ["0s", 0],
    ["1s", 1000],
    ["1.5s", 1500],
    [".5s", 500],
    ["1h2m3s", 3_723_000],
    ["250ms", 250],
    ["2us", 0.002],
    ["2µs", 0.002],
    ["1000000ns", 1],
    ["-1m", -60_000],
    ["+1m", 60_000],
    ["", undefined],
    ["1", undefined],
    ["s", undefined],
    ["1x", undefined],
    ["1s ", undefined],
    ["1 s", undefined],
    ["--1s", undefined],
  ];
  for (const [text, ms] of cases) t.equal(parseDuration(text), ms, JSON.stringify(text));
  for (const text of ["0s", "500ms", "1s", "1m30s", "1h0m0s", "24h0m0s"]) {
    t.equal(formatDuration(parseDuration(text) ?? -1), text);
  }
  t.end();
});

t.test("parseMap() reads switches", (t) => {
  t.same(
    [...(parseMap("api/all=false, batch/v1,a=1") ?? [])],
    [
      ["api/all", false],
      ["batch/v1", true],
      ["a", true],
    ],
  );
  t.equal(parseMap("a=b"), undefined);
  t.equal(parseMap("=true"), undefined);
  t.end();
});

t.test("every flag has a value that fits, and reaches the configuration", (t) => {
  for (const flag of flags as readonly Flag[]) {
    if (flag.default !== "")
      t.notOk(isFlagFault(parseFlags([`--${flag.name}=${flag.default}`])), `the default of --${flag.name}`);
  }
  const values = parseFlags(["--secure-port=7", "--identity=kubernetes", "--shutdown-delay-duration=1m", "-v=3"]);
  const config = isFlagFault(values) ? "" : readConfig(values);
  t.match(config, {
    securePort: 7,
    identity: "kubernetes",
    shutdownDelayMs: 60_000,
    logLevel: "debug",
    bindAddress: "127.0.0.1",
  });
  t.end();
});

t.test("readConfig() switches a plugin off with its gate", (t) => {
  const disabled = (args: readonly string[]) => {
    const values = parseFlags(args);
    const config = isFlagFault(values) ? "" : readConfig(values);
    return typeof config === "string" ? config : config.admission.disabled;
  };
  t.strictSame(disabled([]), []);
  t.strictSame(disabled(["--feature-gates=PodSecurity=false"]), ["PodSecurity"]);
  t.strictSame(disabled(["--feature-gates=AllBeta=false", "--disable-admission-plugins=PodSecurity"]), ["PodSecurity"]);
  t.end();
});

t.test("readConfig() runs the default controllers, and those that are named", (t) => {
  const running = (list: string) => {
    const values = parseFlags([`--controllers=${list}`]);
    const config = isFlagFault(values) ? "" : readConfig(values);
    return typeof config === "string" ? config : config.controllers;
  };
  t.ok(running("*").includes("endpointslice"));
  t.notOk(running("*").includes("bootstrapsigner"));
  t.ok(running("*,bootstrapsigner").includes("bootstrapsigner"));
  t.strictSame(running("endpoint,tokencleaner,-endpoint"), ["tokencleaner"]);
  t.match(running("*,nobody"), /^--controllers: there is no controller "nobody"; there are: namespace, /);
  t.end();
});

t.test("readConfig() reads the flags of nodes", (t) => {
  const read = (...args: string[]) => {
    const values = parseFlags(args);
    const config = isFlagFault(values) ? values.fault : readConfig(values);
    return typeof config === "string" ? config : config.nodes;
  };
  t.strictSame(read(), {
    graceMs: 40_000,
    startupGraceMs: 60_000,
    periodMs: 5_000,
    evicts: true,
    evictionRate: 0.1,
    secondaryEvictionRate: 0.01,
    smallZoneNodesMax: 50,
    unhealthyFraction: 0.55,
  });
  const rates = ["--node-eviction-rate=2.5", "--secondary-node-eviction-rate=0", "--unhealthy-zone-threshold=1"];
  t.match(read("--enable-taint-manager=false", ...rates), {
    evicts: false,
    evictionRate: 2.5,
    secondaryEvictionRate: 0,
    unhealthyFraction: 1,
  });
  for (const rate of ["-1", "1e3", "1.", "", "1001"]) t.match(read(`--node-eviction-rate=${rate}`), /must be/, rate);
  t.match(read("--unhealthy-zone-threshold=1.1"), /it must be at most 1$/);
  t.end();
});

t.test("readConfig() refuses flags that contradict each other", (t) => {
  for (const args of [
    ["--tls-cert-file=a"],
    ["--tls-private-key-file=a"],
    ["--fanout-port=1"],
    ["--data-dir="],
    ["--bind-address=localhost"],
    ["--feature-gates=DryRun=false"],
    ["--feature-gates=Nobody"],
    ["--emulated-release=1.22"],
    ["--controllers=nobody"],
    ["--node-monitor-period=40s"],
    ["--emulated-release=2"],
    ["--show-hidden-metrics-for-version=1.21"],
    ["--show-hidden-metrics-for-version=1.22", "--emulated-release=1.26"],
  ]) {
    const values = parseFlags(args);
    t.type(isFlagFault(values) ? values : readConfig(values), "string", args.join(" "));
  }
  t.end();
});
