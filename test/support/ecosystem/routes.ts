// A route of a gateway: lists within lists, each with defaults, bounds and rules; two versions of one shape.
import {
  age,
  cel,
  column,
  condition,
  conditions,
  dnsName,
  integer,
  type Json,
  keyed,
  list,
  object,
  text,
} from "./parts.ts";
import type { Shape } from "./shape.ts";

const names = {
  group: "routes.networking.k8s.io",
  kind: "HTTPRoute",
  plural: "httproutes",
  shortNames: ["hr"],
  categories: ["gateway-api"],
};
const sectionName = text({ maxLength: 253, minLength: 1, pattern: dnsName });
const port = integer({ format: "int32", minimum: 1, maximum: 65535 });
const group = text({ maxLength: 253, pattern: `^$|${dnsName}` });
const kind = text({ maxLength: 63, minLength: 1, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$" });
const namespace = text({ maxLength: 63, minLength: 1, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" });
const hostname = text({
  maxLength: 253,
  minLength: 1,
  pattern: "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
});
const backend = {
  group: { ...group, default: "" },
  kind: { ...kind, default: "Service" },
  name: text({ maxLength: 253, minLength: 1 }),
  namespace,
  port,
};
const needsPort = cel(
  "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
  "Must have port for Service reference",
);
const header = object(
  {
    name: text({ maxLength: 256, minLength: 1, pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$" }),
    value: text({ maxLength: 4096, minLength: 1 }),
  },
  ["name", "value"],
);
const modifier = object({
  add: keyed(header, ["name"], { maxItems: 16 }),
  remove: list(text({ maxLength: 256 }), { maxItems: 16, "x-kubernetes-list-type": "set" }),
  set: keyed(header, ["name"], { maxItems: 16 }),
});
const pathModifier = object(
  {
    replaceFullPath: text({ maxLength: 1024 }),
    replacePrefixMatch: text({ maxLength: 1024 }),
    type: text({ enum: ["ReplaceFullPath", "ReplacePrefixMatch"] }),
  },
  ["type"],
  {
    oneOf: [{ required: ["replaceFullPath"] }, { required: ["replacePrefixMatch"] }],
    "x-kubernetes-validations": [
      cel(
        "self.type == 'ReplaceFullPath' ? has(self.replaceFullPath) : true",
        "replaceFullPath must be specified when type is set to 'ReplaceFullPath'",
      ),
      cel(
        "has(self.replaceFullPath) ? self.type == 'ReplaceFullPath' : true",
        "type must be 'ReplaceFullPath' when replaceFullPath is set",
      ),
    ],
  },
);
const onlyWith = (field: string, type: string): Json[] => [
  cel(
    `!(has(self.${field}) && self.type != '${type}')`,
    `filter.${field} must be nil if the filter.type is not ${type}`,
  ),
  cel(`!(!has(self.${field}) && self.type == '${type}')`, `filter.${field} must be specified for ${type} filter.type`),
];
const filter = object(
  {
    extensionRef: object({ group, kind, name: text({ maxLength: 253, minLength: 1 }) }, ["group", "kind", "name"]),
    requestHeaderModifier: modifier,
    requestMirror: object({ backendRef: object(backend, ["name"], { "x-kubernetes-validations": [needsPort] }) }, [
      "backendRef",
    ]),
    requestRedirect: object({
      hostname,
      path: pathModifier,
      port,
      scheme: text({ enum: ["http", "https"] }),
      statusCode: integer({ default: 302, enum: [301, 302] }),
    }),
    responseHeaderModifier: modifier,
    type: text({
      enum: [
        "RequestHeaderModifier",
        "ResponseHeaderModifier",
        "RequestMirror",
        "RequestRedirect",
        "URLRewrite",
        "ExtensionRef",
      ],
    }),
    urlRewrite: object({ hostname, path: pathModifier }),
  },
  ["type"],
  {
    "x-kubernetes-validations": [
      ...onlyWith("requestHeaderModifier", "RequestHeaderModifier"),
      ...onlyWith("responseHeaderModifier", "ResponseHeaderModifier"),
      ...onlyWith("requestMirror", "RequestMirror"),
      ...onlyWith("requestRedirect", "RequestRedirect"),
      ...onlyWith("urlRewrite", "URLRewrite"),
      ...onlyWith("extensionRef", "ExtensionRef"),
    ],
  },
);
const filters = list(filter, {
  maxItems: 16,
  "x-kubernetes-validations": [
    cel(
      "!(self.exists(f, f.type == 'RequestRedirect') && self.exists(f, f.type == 'URLRewrite'))",
      "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both",
    ),
    cel(
      "self.filter(f, f.type == 'RequestHeaderModifier').size() <= 1",
      "RequestHeaderModifier filter cannot be repeated",
    ),
  ],
});
const matched = (type: Json): Json =>
  keyed(
    object({ name: (header["properties"] as Json)["name"], type, value: text({ maxLength: 4096, minLength: 1 }) }, [
      "name",
      "value",
    ]),
    ["name"],
    { maxItems: 16 },
  );
const exact = text({ enum: ["Exact", "RegularExpression"], default: "Exact" });
const match = object({
  headers: matched(exact),
  method: text({ enum: ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"] }),
  path: object(
    {
      type: text({ enum: ["Exact", "PathPrefix", "RegularExpression"], default: "PathPrefix" }),
      value: text({ maxLength: 1024, default: "/" }),
    },
    [],
    {
      default: { type: "PathPrefix", value: "/" },
      "x-kubernetes-validations": [
        cel(
          "(self.type in ['Exact','PathPrefix']) ? self.value.startsWith('/') : true",
          "value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']",
        ),
        cel(
          "(self.type in ['Exact','PathPrefix']) ? !self.value.contains('//') : true",
          "must not contain '//' when type one of ['Exact', 'PathPrefix']",
        ),
      ],
    },
  ),
  queryParams: matched(exact),
});
const backendRef = object(
  { ...backend, filters, weight: integer({ format: "int32", default: 1, minimum: 0, maximum: 1_000_000 }) },
  ["name"],
  { "x-kubernetes-validations": [needsPort] },
);
const timeout = text({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" });
const rule = object(
  {
    backendRefs: list(backendRef, { maxItems: 16 }),
    filters,
    matches: list(match, { maxItems: 64, default: [{ path: { type: "PathPrefix", value: "/" } }] }),
    name: sectionName,
    sessionPersistence: object({
      absoluteTimeout: timeout,
      sessionName: text({ maxLength: 128 }),
      type: text({ enum: ["Cookie", "Header"], default: "Cookie" }),
    }),
    timeouts: object({ backendRequest: timeout, request: timeout }),
  },
  [],
  {
    "x-kubernetes-validations": [
      cel(
        "(has(self.backendRefs) && size(self.backendRefs) > 0) ? (!has(self.filters) || self.filters.all(f, !has(f.requestRedirect))): true",
        "RequestRedirect filter must not be used together with backendRefs",
      ),
    ],
  },
);
const parentRef = object(
  {
    group: { ...group, default: names.group },
    kind: { ...kind, default: "Gateway" },
    name: text({ maxLength: 253, minLength: 1 }),
    namespace,
    port,
    sectionName,
  },
  ["name"],
);
const spec = object({
  hostnames: list(hostname, { maxItems: 16 }),
  parentRefs: list(parentRef, {
    maxItems: 32,
    "x-kubernetes-validations": [
      cel(
        "self.all(p1, self.exists_one(p2, p1.name == p2.name && ((!has(p1.sectionName) && !has(p2.sectionName)) || (has(p1.sectionName) && has(p2.sectionName) && p1.sectionName == p2.sectionName))))",
        "sectionName must be unique when parentRefs includes 2 or more references to the same parent",
      ),
    ],
  }),
  rules: list(rule, {
    maxItems: 16,
    minItems: 1,
    default: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }],
    "x-kubernetes-validations": [
      cel(
        "self.all(l1, !has(l1.name) || self.exists_one(l2, has(l2.name) && l1.name == l2.name))",
        "Rule name must be unique within the route",
      ),
    ],
  }),
});
const parent = object(
  { conditions: conditions({ minItems: 1 }), controllerName: text({ minLength: 1, maxLength: 253 }), parentRef },
  ["conditions", "controllerName", "parentRef"],
);
const status = object({ parents: keyed(parent, ["controllerName"], { maxItems: 32 }) }, ["parents"]);
const columns = [
  column("Hostnames", ".spec.hostnames"),
  column("Parents", ".spec.parentRefs[*].name", "string", { priority: 1 }),
  age,
];
const approved = {
  "api-approved.kubernetes.io": "https://example.com/enhancements/1",
  "routes.networking.k8s.io/channel": "standard",
};

function parentStatus(controllerName: string): Json {
  return { controllerName, conditions: [condition("Accepted")], parentRef: { name: "gate" } };
}

/** A kind of routes. */
export const routes: Shape = {
  names,
  scope: "Namespaced",
  versions: ["v1", "v1beta1"],
  annotations: approved,
  spec,
  status,
  printed: columns,
  words: 90,
  object: (name, number) => ({
    hostnames: [`${name}.example.com`],
    parentRefs: [{ name: "gate" }],
    rules: [
      {
        name: "first",
        backendRefs: [
          { name: "web", port: 80 + number },
          { name: "other", port: 8080, weight: 0 },
        ],
      },
      {
        name: "second",
        matches: [
          { path: { value: `/v${number}` }, headers: [{ name: "x-version", value: "2" }] },
          { method: "GET", queryParams: [{ name: "q", type: "RegularExpression", value: ".*" }] },
        ],
        filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "https" } }],
      },
    ],
  }),
  defaults: [
    ["spec.parentRefs[0]", { group: names.group, kind: "Gateway", name: "gate" }],
    ["spec.rules[0].matches", [{ path: { type: "PathPrefix", value: "/" } }]],
    ["spec.rules[0].backendRefs[0]", { group: "", kind: "Service", name: "web", port: 80, weight: 1 }],
    ["spec.rules[0].backendRefs[1].weight", 0],
    ["spec.rules[1].matches[0].path.type", "PathPrefix"],
    ["spec.rules[1].matches[0].headers[0].type", "Exact"],
    ["spec.rules[1].matches[1].path", { type: "PathPrefix", value: "/" }],
    ["spec.rules[1].filters[0].requestRedirect.statusCode", 302],
  ],
  unknown: ["spec.host", "spec.rules[0].backendRefs[0].proxy", "spec.rules[1].matches[0].path.kind"],
  open: [],
  faults: [
    [["spec.rules", []], "spec.rules", /should have at least 1 items/],
    [
      ["spec.rules[0].backendRefs[1].port", 70_000],
      "spec.rules.backendRefs.port",
      /should be less than or equal to 65535/,
    ],
    [["spec.rules[0].backendRefs[0].name", undefined], "spec.rules.backendRefs.name", /Required value/],
    [["spec.rules[1].matches[1].method", "BREW"], "spec.rules.matches.method", /Unsupported value: "BREW"/],
    [
      ["spec.rules[1].filters[0].requestRedirect.statusCode", 303],
      "spec.rules.filters.requestRedirect.statusCode",
      /Unsupported value: 303: supported values: "301", "302"/,
    ],
    [
      [
        "spec.rules[1].filters[0].requestRedirect.path",
        { type: "ReplaceFullPath", replaceFullPath: "/", replacePrefixMatch: "/" },
      ],
      // Upstream names no field where none of several schemas holds.
      "<nil>",
      /must validate one and only one schema \(oneOf\)/,
    ],
    [
      [
        "spec.rules[1].matches[0].headers",
        [
          { name: "a", value: "b" },
          { name: "a", value: "c" },
        ],
      ],
      "spec.rules[1].matches[0].headers[1]",
      /Duplicate value: map\[string\]interface \{\}\{"name":"a"\}/,
    ],
    [["spec.hostnames[0]", "Upper.example.com"], "spec.hostnames", /should match/],
  ],
  broken: [
    [
      ["spec.rules[0].backendRefs[0].port", undefined],
      "spec.rules[0].backendRefs[0]",
      /Must have port for Service reference/,
    ],
    [["spec.rules[1].name", "first"], "spec.rules", /Rule name must be unique within the route/],
    [["spec.rules[1].matches[0].path.value", "v2"], "spec.rules[1].matches[0].path", /value must be an absolute path/],
  ],
  list: {
    path: "status.parents",
    items: [parentStatus("example.com/one"), parentStatus("example.com/two")],
    changed: { ...parentStatus("example.com/two"), parentRef: { name: "other" } },
  },
  columns: ["HOSTNAMES", "PARENTS", "AGE"],
  explained: "spec.rules.matches.headers.name",
  size: undefined,
};
