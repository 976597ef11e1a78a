// CPU of a value's way between etcd and a record, per object of about 5 KiB. `node dist/perf/micro/values.js [rounds]` prints
// one JSON line per case, `values/<operation>`, with the best and the median of nine runs.
// Expected: below 10 us to read a value of this server whose kind has no selectable fields of its own, below 40 us for a
// pod; below 200 us for values upstream wrote, which are read whole.
import { identities } from "../../src/api/identity.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { type Change, changeTypes } from "../../src/storage/store.ts";
import { type Content, StoredValues } from "../../src/storage/values/storedvalues.ts";
import { podText } from "../corpus/pod.ts";

const rounds = Number(process.argv[2] ?? 1_000);
const count = 32;
const runs = 9;

const scheme = createScheme({ identity: identities.kubernetes });
const options = { scheme, claims: [], cluster: { family: "IPv4" } } as const;
const json = new StoredValues({ ...options, mediaType: "application/json" });
const protobuf = new StoredValues({ ...options, mediaType: "application/vnd.kubernetes.protobuf" });

interface Sample {
  readonly prefix: string;
  readonly key: string;
  readonly upstreamJson: Buffer;
  readonly change: Change;
  readonly protobuf: Uint8Array;
}

interface PodText {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

/** Pods, or templates of the same size, which have no selectable fields. */
function sample(index: number, isTemplate: boolean): Sample {
  const pod = JSON.parse(podText(index)) as PodText;
  const { metadata, spec } = pod;
  const template = { kind: "PodTemplate", apiVersion: "v1", metadata, template: { metadata: {}, spec } };
  const prefix = isTemplate ? "/registry/podtemplates" : "/registry/pods";
  const key = `${prefix}/${metadata.namespace}/${metadata.name}`;
  const upstreamJson = Buffer.from(JSON.stringify(isTemplate ? template : { kind: "Pod", apiVersion: "v1", ...pod }));
  const { body, versionAt, selection }: Content = json.decode(prefix, key, upstreamJson, 1);
  const bare = Buffer.concat([body.subarray(0, versionAt), body.subarray(versionAt + 1)]);
  const change = { prefix, key, expected: 0, type: changeTypes.create, selection, body: bare, versionAt };
  return { prefix, key, upstreamJson, change, protobuf: protobuf.encode(change) };
}

/** What was measured must be used, or the engine may leave it out. */
let consumed = 0;

function measure(name: string, samples: readonly Sample[], operation: (of: Sample) => number): void {
  const times: number[] = [];
  for (let run = 0; run < runs + 2; run += 1) {
    // CPU rather than wall time: the machine may be busy with others.
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) consumed += operation(samples[round % count] as Sample);
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / rounds);
  }
  // The first two runs warm up.
  const sorted = times.slice(2).sort((a, b) => a - b);
  const rounded = (value: number | undefined): number => Math.round((value ?? 0) * 10) / 10;
  const bytes = Math.round(samples.reduce((sum, { change }) => sum + change.body.length, 0) / count);
  console.log(
    JSON.stringify({
      case: `values/${name}`,
      usBest: rounded(sorted[0]),
      usMedian: rounded(sorted[runs >> 1]),
      bytes,
    }),
  );
}

for (const [kind, isTemplate] of [
  ["pods", false],
  ["pod templates", true],
] as const) {
  const samples = Array.from({ length: count }, (_, index) => sample(index, isTemplate));
  const read = (of: Sample, value: Uint8Array): number => json.decode(of.prefix, of.key, value, 123_456).versionAt;
  measure(`${kind}: read what this server wrote`, samples, (of) => read(of, of.change.body));
  measure(`${kind}: read protobuf`, samples, (of) => read(of, of.protobuf));
  measure(`${kind}: read upstream's JSON`, samples, (of) => read(of, of.upstreamJson));
  measure(`${kind}: write protobuf`, samples, (of) => protobuf.encode(of.change).length);
  measure(`${kind}: find the place`, samples, (of) => (json.placeOf(of.key) ?? "").length);
}
if (consumed === 0) console.log("nothing was measured");
