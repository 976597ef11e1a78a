// Every published fixture of every kind through parse, decode and encode, byte for byte. Needs the shared facts.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { messages } from "../../src/api/messages.ts";
import { decode, encode, encodeForStore, Fault, parseJson } from "../../src/codec/engine/json.ts";

const dir = "../shared/fixtures";
const files = existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".json")) : [];

/** A fixture as the encoder would write it: no space outside strings, HTML characters escaped. */
function compact(text: string): string {
  const bare = text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, string?: string) => string ?? "");
  return bare.replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

/** The message of `apps.v1.Deployment.json`; kinds without a group of their own are published under core. */
function messageFor(name: string): ReturnType<typeof messages.get> {
  const [, group = "", version = "", kind = ""] = /^(.*)\.(v\d\w*)\.(\w+)\.json$/.exec(name) ?? [];
  return messages.get(`${group.split(".")[0]}/${version}.${kind}`) ?? messages.get(`meta/v1.${kind}`);
}

/** Published with the types, but never served. */
const unserved = new Set([
  "batch.v1.JobTemplate.json",
  "core.v1.EphemeralContainers.json",
  "core.v1.ExportOptions.json",
]);

for (const name of files) {
  t.test(`encode() gives back the fixture ${name}`, async (t) => {
    const message = messageFor(name);
    if (message === undefined) return void t.ok(unserved.has(name), "known not to be served");
    const bytes = readFileSync(join(dir, name));
    const value = parseJson(bytes);
    if (value instanceof Fault) return void t.fail(value.message);
    const object = decode<{ metadata?: { resourceVersion?: string } }>(message, value);
    if (object instanceof Fault) return void t.fail(object.message);
    const want = compact(bytes.toString());
    t.equal(encode(message, object), want);
    const version = object.metadata?.resourceVersion;
    if (version === undefined || name.includes("Status.json")) return;
    const { body, versionAt } = encodeForStore(message, object);
    const at = Buffer.from(body);
    t.equal(`${at.subarray(0, versionAt)}${version}${at.subarray(versionAt)}`, want, "the gap takes the version");
  });
}

t.ok(files.length === 0 || files.length > 40, "fixtures are all there, or none");
