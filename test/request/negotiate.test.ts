import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { isStatus } from "../../src/api/status.ts";
import { acceptsGzip, mediaTypes, negotiateAccept, negotiateBody } from "../../src/request/negotiate.ts";

const types = mediaTypes(identities.kubernetes);

/** `json`, `json pretty`, `yaml`, or code and message. */
function accept(header: string | undefined, pretty = false): string {
  const accepted = negotiateAccept(header, pretty, types);
  if (isStatus(accepted)) return `${accepted.code} ${accepted.message}`;
  return accepted.format + (accepted.pretty ? " pretty" : "");
}

t.test("negotiateAccept() chooses as the reference does", (t) => {
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
    ["application/json;q=0", "406 406: Not Acceptable"],
  ];
  for (const [header, expected] of rows) t.equal(accept(header), expected, String(header));
  t.equal(accept("application/json", true), "json pretty");
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
