import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { isStatus } from "../../../src/api/status.ts";
import {
  acceptsGzip,
  mediaTypes,
  negotiateAccept,
  negotiateBody,
  type Offers,
} from "../../../src/request/route/negotiate.ts";

const types = mediaTypes(identities.kubernetes);

/** `json`, `json pretty`, `yaml`, or code and message. */
function accept(header: string | undefined, pretty = false): string {
  const accepted = negotiateAccept(header, pretty, types);
  if (isStatus(accepted)) return `${accepted.code} ${accepted.message}`;
  return accepted.format + (accepted.pretty ? " pretty" : "");
}

t.test("negotiateAccept() chooses as upstream does", (t) => {
  const offered = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  const rows: [header: string | undefined, expected: string][] = [
    [undefined, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/json", "json"],
    ["application/json; charset=utf-8", "json"],
    ["application/json;stream=watch", "json"],
    ["application/json;pretty=1", "json pretty"],
    ["application/yaml, application/json", "yaml"],
    ["application/json;q=0.2, application/yaml;q=0.9", "yaml"],
    ["application/json;as=Table;g=meta.k8s.io;v=v9, application/json", "json"],
    ["application/json;as=Unknown;g=meta.k8s.io;v=v1", `406 only the following media types are accepted: ${offered}`],
    ["text/html", "406 406: Not Acceptable"],
    ["application/*", "406 406: Not Acceptable"],
    ["garbage", "406 406: Not Acceptable"],
    [",,,", "406 406: Not Acceptable"],
    [", ;q=1,;;, application/yaml ;; q=0.5 ;,", "yaml"],
    ["application/json;q=0.4,application/yaml;q=0.5", "yaml"],
    ["application/json;q=x,application/yaml", "yaml"],
    ["application/json;q=0", "406 406: Not Acceptable"],
  ];
  for (const [header, expected] of rows) t.equal(accept(header), expected, String(header));
  t.equal(accept("application/json", true), "json pretty");
  t.end();
});

t.test("negotiateAccept() takes the first form an endpoint offers", (t) => {
  const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1";
  const rows: [header: string, offers: Offers, expected: string][] = [
    [table, "table", "json Table meta.k8s.io/v1"],
    [`${table}, application/json`, "metadata", "json"],
    [`${table};q=0.1, application/json`, "table", "json"],
    [`application/json;as=Table;g=meta.k8s.io;v=v2,${table}`, "table", "json Table meta.k8s.io/v1"],
    [metadata, "metadata", "protobuf PartialObjectMetadata meta.k8s.io/v1beta1"],
    [table.replace("json", "yaml"), "table", "yaml Table meta.k8s.io/v1"],
    ["application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1, */*", "table", "json"],
  ];
  for (const [header, offers, expected] of rows) {
    const accepted = negotiateAccept(header, false, types, offers);
    if (isStatus(accepted)) {
      t.fail(accepted.message);
      continue;
    }
    const { form } = accepted;
    t.equal(accepted.format + (form === undefined ? "" : ` ${form.kind} ${form.apiVersion}`), expected, header);
  }
  t.end();
});

t.test("negotiateBody() reads JSON by default and refuses unknown types", (t) => {
  t.equal(negotiateBody(undefined, types), "json");
  t.equal(negotiateBody("application/json; charset=utf-8", types), "json");
  t.equal(negotiateBody("application/yaml", types), "yaml");
  for (const type of ["text/plain", "application/merge-patch+json", "garbage", "application/x-www-form-urlencoded"]) {
    t.match(negotiateBody(type, types), { code: 415, reason: "UnsupportedMediaType" }, type);
  }
  t.end();
});

t.test("acceptsGzip() honours q=0", (t) => {
  t.equal(acceptsGzip(undefined), false);
  t.equal(acceptsGzip("deflate, gzip"), true);
  t.equal(acceptsGzip("gzip;q=0"), false);
  t.equal(acceptsGzip("*"), true);
  t.end();
});
