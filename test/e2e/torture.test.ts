// What JavaScript loses and what bodies hide (ATTACKS J01 to J09, C01 to C05), against the server as its own process:
// what is legal is stored and comes back byte for byte, what is not is a 4xx, and others do not notice.
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import { openTarget, type Target } from "../support/target.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
const merge = { "content-type": "application/merge-patch+json" };
const jsonPatch = { "content-type": "application/json-patch+json" };
const strategic = { "content-type": "application/strategic-merge-patch+json" };
const yaml = { "content-type": "application/yaml" };

/** Names that mean something to JavaScript (ATTACKS section 2), in the byte order of UTF-8. */
const special = [
  "__proto__ constructor prototype toString valueOf hasOwnProperty toJSON then length __defineGetter__",
  "0 1 10 9 -0 1e3 NaN null",
]
  .join(" ")
  .split(" ")
  .sort();

/** A JSON object of these members, exactly as written. */
function members(keys: readonly string[], value: (key: string) => string = (key) => `"v ${key}"`): string {
  return `{${keys.map((key) => `${JSON.stringify(key)}:${value(key)}`).join(",")}}`;
}

/** Stores `field` of an object at `path/name` and looks whether create, get, list, watch and a patch say it the same. */
async function keeps(target: Target, path: string, name: string, field: string, metadata = ""): Promise<string[]> {
  const body = `{"metadata":{"name":"${name}"${metadata}}${field === "" ? "" : `,${field}`}}`;
  const wanted = field === "" ? metadata.slice(1) : field;
  const created = await target.raw("POST", path, body);
  const touch = `{"metadata":{"annotations":{"touched":"yes"}}}`;
  const answers: readonly [string, string][] = [
    ["create", created.text],
    ["get", (await target.raw("GET", `${path}/${name}`)).text],
    ["list", (await target.raw("GET", `${path}?fieldSelector=metadata.name%3D${name}`)).text],
    ["watch", (await target.raw("GET", `${path}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3D${name}`)).text],
    ["patch", field === "" ? wanted : (await target.raw("PATCH", `${path}/${name}`, touch, merge)).text],
    ["delete", (await target.raw("GET", `${path}/${name}`)).text],
  ];
  await target.raw("DELETE", `${path}/${name}`);
  return answers.flatMap(([verb, text]) => (text.includes(wanted) ? [] : [`${path} ${verb}: ${text} lacks ${wanted}`]));
}

/** Sends each case, in order, and compares codes; whoever is slower than `msMax` is wrong, too. */
async function codesOf(
  cases: readonly (readonly [name: string, code: number, send: () => ReturnType<Target["raw"]>])[],
  msMax = 5_000,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const [name, wanted, send] of cases) {
    const { code, text, tookMs } = await send();
    if (code !== wanted) wrong.push(`${name}: ${code} instead of ${wanted}: ${text.slice(0, 300)}`);
    if (tookMs > msMax) wrong.push(`${name}: took ${Math.round(tookMs)} ms`);
  }
  return wrong;
}

t.test("names of JavaScript's own are names like any other", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  const data = `"data":${members(special)}`;
  const labels = special.filter((key) => /^[a-zA-Z0-9]/.test(key));
  const secret = members(special, () => '"djA="');
  const qualified = special.map((key) => `example.com/${key.replace(/^[^a-zA-Z0-9]|[^a-zA-Z0-9]$/g, "x")}`).sort();
  const pod = `{"containers":[{"image":"i","name":"c","resources":{"limits":${members(qualified, () => '"1"')}}}]}`;
  const selector = `"spec":{"nodeSelector":${members(labels, () => '"v"')}}`;
  const pods = "/api/v1/namespaces/default/pods";
  t.strictSame(
    [
      ...(await keeps(target, maps, "data", data)),
      ...(await keeps(target, "/api/v1/namespaces/default/secrets", "data", `"data":${secret}`)),
      ...(await keeps(target, maps, "labels", "", `,"labels":${members(labels, () => '"v"')}`)),
      ...(await keeps(target, maps, "notes", "", `,"annotations":${members(labels)}`)),
      ...(await keeps(target, revisions, "free", `"data":${members([...special, ""])},"revision":1`)),
    ],
    [],
  );
  const made = await target.raw("POST", pods, `{"metadata":{"name":"p"},"spec":${pod}}`);
  t.match(made.text, `"limits":${members(qualified, () => '"1"')}`, "resource limits");
  const selecting = `{"metadata":{"name":"q"},${selector.replace('"spec":{', '"spec":{"containers":[{"image":"i","name":"c"}],')}}`;
  t.match((await target.raw("POST", pods, selecting)).text, selector.slice(8, -1), "node selector");

  for (const name of special
    .map((key) => key.toLowerCase())
    .filter((key) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(key))) {
    const made = await target.raw("POST", "/api/v1/namespaces", `{"metadata":{"name":"${name}"}}`);
    const inside = await target.raw("POST", `/api/v1/namespaces/${name}/configmaps`, `{"metadata":{"name":"${name}"}}`);
    const read = await target.raw("GET", `/api/v1/namespaces/${name}/configmaps/${name}`);
    t.strictSame([made.code, inside.code, read.json?.metadata.name], [201, 201, name], `a namespace named ${name}`);
  }
  const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  for (const name of special) {
    const missing = await target.raw("GET", `${roles}/${name}`);
    const made = await target.raw("POST", roles, `{"metadata":{"name":"${name}"}}`);
    const read = await target.raw("GET", `${roles}/${name}`);
    t.strictSame([missing.code, made.code, read.json?.metadata.name], [404, 201, name], `a role named ${name}`);
  }
  for (const name of special) {
    const codes = [
      `/api/v1/${name}`,
      `/apis/${name}/v1`,
      `/api/v1/namespaces/default/${name}/x`,
      `/apis/apps/${name}/x`,
    ];
    for (const path of codes) t.equal((await target.raw("GET", path)).code, 404, path);
    const asked = await target.raw("GET", `${maps}?${name}=${name}&labelSelector=${name}`);
    t.ok([200, 400].includes(asked.code), `a query and a selector with ${name}: ${asked.code}`);
  }
  t.strictSame(await target.verdict(), []);
});

t.test("patches do not reach JavaScript's prototypes", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  await target.raw("POST", maps, '{"metadata":{"name":"m"},"data":{"a":"1"}}');
  const op = (path: string): string => `[{"op":"add","path":"${path}","value":"polluted"}]`;
  const paths = ["/__proto__/x", "/constructor/prototype/x", "/metadata/labels/__proto__", "/data/__proto__/x"];
  for (const path of paths) {
    const { code } = await target.raw("PATCH", `${maps}/m`, op(path), jsonPatch);
    t.ok(code === 422 || code === 200, `${path}: ${code}`);
  }
  const own = await target.raw("PATCH", `${maps}/m`, op("/data/__proto__"), jsonPatch);
  t.match(own.text, '"data":{"__proto__":"polluted","a":"1"}', "a key of that name is data");
  const merged = await target.raw("PATCH", `${maps}/m`, '{"data":{"__proto__":null,"constructor":"c"}}', merge);
  t.match(merged.text, '"data":{"a":"1","constructor":"c"}');
  for (const body of ['{"__proto__":{"x":"polluted"}}', '{"constructor":{"prototype":{"x":"polluted"}}}']) {
    t.equal((await target.raw("PATCH", `${maps}/m`, body, merge)).code, 200, body);
  }
  const fresh = await target.raw("POST", maps, '{"metadata":{"name":"fresh"}}');
  t.notMatch(fresh.text, /polluted|"x"/, "nothing else has it");
  t.strictSame(await target.verdict(), []);
});

t.test("numbers come back as they were sent, or are refused", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  const jobs = "/apis/batch/v1/namespaces/default/jobs";
  const template = `"template":{"spec":{"containers":[{"image":"i","name":"c"}],"restartPolicy":"Never"}}`;
  const job = (name: string, number: string): string =>
    `{"metadata":{"name":"${name}"},"spec":{"activeDeadlineSeconds":${number},${template}}}`;
  const big = await target.raw("POST", jobs, job("big", "9007199254740993"));
  t.match(big.text, '"activeDeadlineSeconds":9007199254740993,', "an integer beyond 2^53");
  const most = await target.raw("POST", jobs, job("most", "9223372036854775807"));
  t.match(most.text, '"activeDeadlineSeconds":9223372036854775807,');
  const refused = [
    "9223372036854775808",
    "-9223372036854775809",
    "1e400",
    "1.5",
    "1e3",
    "1.0",
    "NaN",
    "Infinity",
    "0x10",
    "01",
  ];
  for (const number of refused) {
    t.equal((await target.raw("POST", jobs, job("bad", number))).code, 400, number);
  }
  const free = `{"z":1,"a":[9007199254740993,-9223372036854775808,0.1,5e-324,1e+21,-0],"é":"\u{1f600}","\ufffd":0,"\u{1f600}":0,"10":0,"9":0}`;
  t.strictSame(
    await keeps(target, revisions, "free", `"data":${free},"revision":1`),
    [],
    "free-form JSON, order and all",
  );
  t.strictSame(await target.verdict(), []);
});

t.test("texts and keys come back as they were sent, or are refused", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  const text = async (name: string, bytes: Uint8Array): Promise<string> => {
    const body = Buffer.concat([
      Buffer.from(`{"metadata":{"name":"${name}"},"data":{"k":"`),
      bytes,
      Buffer.from('"}}'),
    ]);
    const { code, json } = await target.raw("POST", maps, body);
    return code === 201 ? json.data.k : String(code);
  };
  const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
  const texts: readonly [string, Uint8Array, string][] = [
    ["a stray byte", bytes(0x61, 0xff, 0x62), "a\ufffdb"],
    ["overlong", bytes(0xc0, 0xaf), "\ufffd\ufffd"],
    ["a surrogate in UTF-8", bytes(0xed, 0xa0, 0x80), "\ufffd\ufffd\ufffd"],
    ["cut off", bytes(0x61, 0xe2, 0x82), "a\ufffd\ufffd"],
    ["an escaped lone surrogate", Buffer.from("\\ud800x"), "\ufffdx"],
    ["an escaped pair", Buffer.from("\\ud83d\\ude00"), "\u{1f600}"],
    ["an escaped zero", Buffer.from("\\u0000"), "\0"],
    ["separators", Buffer.from("\u2028\u2029"), "\u2028\u2029"],
    ["a BOM within", Buffer.from("\ufeff"), "\ufeff"],
  ];
  for (const [index, [name, sent, wanted]] of texts.entries()) t.equal(await text(`t${index}`, sent), wanted, name);
  for (const name of ["a\ufffd", "\\ud800", "\\udc00", "a\\u0000"]) {
    t.equal((await target.raw("POST", maps, `{"metadata":{"name":"${name}"}}`)).code, 422, `a name like ${name}`);
  }
  t.equal((await target.raw("POST", maps, '\ufeff{"metadata":{"name":"bom"}}')).code, 400, "a BOM before the body");

  const twice = await target.raw(
    "POST",
    maps,
    '{"metadata":{"name":"one","name":"two"},"data":{"a":"1","a":"2"},"Data":{"b":"3"}}',
  );
  t.strictSame(
    [twice.json?.metadata.name, twice.json?.data],
    ["two", { a: "2" }],
    "the last of equal keys, case told apart",
  );
  const kinds = '{"kind":"ConfigMap","kind":"Secret","metadata":{"name":"k"}}';
  t.equal((await target.raw("POST", maps, kinds)).code, 400, "the last kind counts");
  t.strictSame(await target.verdict(), []);
});

type Cases = Parameters<typeof codesOf>[0];

const one = `${maps}/m`;

function nest(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

/** An object that nests this deep, itself included. */
function within(depth: number, name: string): string {
  return `{"metadata":{"name":"${name}"},"unknown":${nest(depth - 1)}}`;
}

/** An object of so many bytes. */
function huge(bytes: number): string {
  const frame = '{"metadata":{"name":"m"},"data":{"a":""}}';
  return frame.replace('""', `"${"x".repeat(bytes - frame.length)}"`);
}

/** As often as a body holds it. */
function fill(text: string): string {
  return text.repeat(Math.floor(limits.bodyBytesMax / text.length));
}

function sizes(target: Target): Cases {
  const over = huge(limits.bodyBytesMax + 1);
  return [
    ["POST of 3 MiB and a byte", 413, () => target.raw("POST", maps, over)],
    ["PUT of 3 MiB and a byte", 413, () => target.raw("PUT", one, over)],
    ["merge patch of 3 MiB and a byte", 413, () => target.raw("PATCH", one, over, merge)],
    ["JSON patch of 3 MiB and a byte", 413, () => target.raw("PATCH", one, over, jsonPatch)],
    ["strategic patch of 3 MiB and a byte", 413, () => target.raw("PATCH", one, over, strategic)],
    ["DELETE of 3 MiB and a byte", 413, () => target.raw("DELETE", one, over)],
    ["an object beyond what is stored", 422, () => target.raw("PUT", one, huge(limits.objectBytesMax + 1000))],
  ];
}

function depths(target: Target, round: number): Cases {
  const add = `[{"op":"add","path":"/data/b","value":${nest(700_000)}}]`;
  return [
    ["depth 9,999", 201, () => target.raw("POST", maps, within(9_999, `deep${round}`))],
    ["depth 10,001", 400, () => target.raw("POST", maps, within(10_001, "deeper"))],
    ["depth 1,500,000", 400, () => target.raw("POST", maps, within(1_500_000, "deepest"))],
    ["3 MiB of [", 400, () => target.raw("POST", maps, fill("["))],
    ['3 MiB of {"a":', 400, () => target.raw("POST", maps, fill('{"a":'))],
    ["merge patch of depth 1,500,000", 400, () => target.raw("PATCH", one, within(1_500_000, "m"), merge)],
    ["strategic patch of depth 1,500,000", 400, () => target.raw("PATCH", one, within(1_500_000, "m"), strategic)],
    ["JSON patch with a value that deep", 400, () => target.raw("PATCH", one, add, jsonPatch)],
    ["delete options that deep", 400, () => target.raw("DELETE", one, nest(30_000))],
  ];
}

function yamls(target: Target): Cases {
  const aliases = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(", ")}]`);
  const bomb = `metadata: {name: bomb}\na0: &a0 [x]\n${aliases.join("\n")}\n`;
  const post = (text: string) => () => target.raw("POST", maps, text, yaml);
  return [
    ["YAML flow of depth 10,001", 400, post(within(10_001, "deeper"))],
    ["YAML of 3 MiB of [", 400, post(fill("["))],
    ["YAML of 3 MiB of - ", 400, post(fill("- "))],
    ["YAML of 3 MiB of {a: ", 400, post(fill("{a: "))],
    ["YAML of 3 MiB of anchors", 413, post(fill("- &a b\n"))],
    ["YAML of 3 MiB of comments", 422, post(fill("# c\n"))],
    ["YAML of 3 MiB of documents", 422, post(fill("---\n"))],
    ["an alias bomb", 400, post(bomb)],
    ["an anchor within itself", 400, post("a: &a [*a]\n")],
  ];
}

function patches(target: Target): Cases {
  const json = (text: string) => () => target.raw("PATCH", one, text, jsonPatch);
  const ops = (count: number): string =>
    `[${Array(count).fill('{"op":"add","path":"/data/a","value":"2"}').join(",")}]`;
  const copy = (path: string): string => `{"op":"copy","from":"/data","path":"${path}"}`;
  const quarter = `{"op":"add","path":"/data/big","value":"${"y".repeat(limits.patchCopyBytesMax / 4)}"}`;
  const doubling = Array.from({ length: 30 }, (_, i) => copy(`/data/c${i}`)).join(",");
  const list = '{"op":"add","path":"/metadata/finalizers","value":[]}';
  const far = '{"op":"add","path":"/metadata/finalizers/4294967294","value":"a/b"}';
  return [
    ["10,000 operations", 200, json(ops(10_000))],
    ["10,001 operations", 413, json(ops(10_001))],
    ["copies of copies", 422, json(`[${quarter},${doubling}]`)],
    ["an index of ten digits", 422, json(`[${list},${far}]`)],
    ["a path without a slash", 422, json('[{"op":"add","path":"data","value":1}]')],
    ["a patch that is no list", 400, json('{"op":"add"}')],
    ["a patch of nothing", 400, json("")],
    ["a merge patch that is a list", 422, () => target.raw("PATCH", one, "[]", merge)],
  ];
}

t.test("deep, large and multiplying bodies are refused in time, and memory comes back", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  await target.raw("POST", maps, '{"metadata":{"name":"m"},"data":{"a":"1"}}');
  const attack = (round: number): Promise<string[]> =>
    codesOf([...sizes(target), ...depths(target, round), ...yamls(target), ...patches(target)]);
  t.strictSame(await attack(1), []);
  const before = await target.warmMib();
  t.strictSame(await attack(2), []);
  const came = await target.cameBackTo(before);
  t.ok(came, `memory came back to ${Math.round(before)} MiB: ${Math.round(target.residentMib)}`);
  // 3 MiB of YAML are 0.4 s of a front by themselves, and this machine may be busy.
  t.strictSame(await target.verdict(3000), []);
});
