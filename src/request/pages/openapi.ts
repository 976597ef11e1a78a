// `/openapi/v2` and `/openapi/v3`: built from the scheme when somebody asks, a few milliseconds at a time, and kept for
// the life of the front with their hash and their compressed form. Version 3 has one document per group version, found
// through an index that names each with its hash, so that clients may keep what they have.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Message } from "../../api/schema.ts";
import type { Scheme } from "../../api/scheme.ts";
import { nextTurn } from "../../base/turn.ts";
import { limits } from "../../config/limits.ts";
import {
  documentNames,
  groupVersionPaths,
  kindTable,
  type PathEntry,
  rootMessages,
  rootPaths,
} from "../../openapi/openapipaths.ts";
import { encodeDefinition, encodeFrame, encodePath } from "../../openapi/openapiproto.ts";
import { addScalar, definitionsOf, type Schema, type SchemaContext } from "../../openapi/openapischema.ts";
import { type Reply, sendNotFoundPage, sendStatus } from "../answer/response.ts";
import type { Server } from "../call/context.ts";
import type { Headers } from "../exchange/transport.ts";
import { methodNotAllowed, type NonResourceInfo } from "../route/info.ts";
import { acceptsGzip } from "../route/negotiate.ts";
import { first } from "../route/query.ts";

/** A document that is ready to be sent. */
interface Built {
  readonly bytes: Uint8Array;
  readonly packed: Uint8Array | undefined;
  /** Strong, quotes included. */
  readonly etag: string;
}

/** What is built per scheme; each at most once. */
interface Documents {
  readonly scheme: Scheme;
  readonly title: string;
  readonly release: string;
  readonly kindsOf: SchemaContext["kindsOf"];
  readonly byName: Map<string, Promise<Built>>;
}

const known = new WeakMap<Scheme, Documents>();
const pack = promisify(gzip);

const protobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const jsonV2 = "application/com.github.proto-openapi.spec.v2.v1.0+json";
const protobufTypes = new Set([protobufV2, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"]);

/** Answers a request under `/openapi`; false: nothing is served there. */
export async function serveOpenApi(server: Server, info: NonResourceInfo, reply: Reply): Promise<boolean> {
  const path = info.path.replace(/\/$/, "");
  if (path !== "/openapi/v2" && path !== "/openapi/v3" && !path.startsWith("/openapi/v3/")) return false;
  const documents = documentsOf(server);
  const reads = info.verb === "get" || info.verb === "head";
  if (path === "/openapi/v2") await serveV2(documents, reply);
  else if (!reads) sendStatus(reply, methodNotAllowed);
  else if (path === "/openapi/v3") await serveIndex(documents, reply);
  else await serveV3(documents, path.slice("/openapi/v3/".length), first(info.query, "hash") ?? "", reply);
  return true;
}

function documentsOf(server: Server): Documents {
  const scheme = server.scheme.current();
  let documents = known.get(scheme);
  if (documents === undefined) {
    const version = JSON.parse(server.version) as { gitVersion?: string };
    const title = scheme.identity.identity === "kubernetes" ? "Kubernetes" : "Orch";
    documents = { scheme, title, release: version.gitVersion ?? "", kindsOf: kindTable(scheme), byName: new Map() };
    known.set(scheme, documents);
  }
  return documents;
}

async function serveV2(documents: Documents, reply: Reply): Promise<void> {
  const form = formV2(reply.exchange.header("accept"));
  if (form === undefined) return sendNotAcceptable(reply);
  const protobuf = form === "protobuf";
  const built = await once(documents, protobuf ? "v2 protobuf" : "v2", () => buildV2(documents, protobuf));
  // Upstream leaves both types to a guess from the first bytes; clients rely on neither.
  send(reply, built, protobuf ? "application/octet-stream" : "text/plain; charset=utf-8", noCache);
}

/** Upstream says no more than the code here. */
function sendNotAcceptable(reply: Reply): void {
  reply.answered(406, 0);
  reply.exchange.send(406, [...reply.extra, ...noCache], "");
}

/** The form of version 2 a client prefers. */
function formV2(accept: string | undefined): "json" | "protobuf" | undefined {
  if (accept === undefined || accept === "") return "json";
  for (const clause of accept.split(",")) {
    const type = (clause.split(";")[0] ?? "").trim();
    if (protobufTypes.has(type)) return "protobuf";
    if (type === "application/json" || type === jsonV2 || type === "*/*" || type === "application/*") return "json";
  }
  return undefined;
}

async function serveIndex(documents: Documents, reply: Reply): Promise<void> {
  const built = await once(documents, "v3", async () => {
    const paths: Record<string, { serverRelativeURL: string }> = {};
    for (const name of [...documentNames(documents.scheme).keys()].sort()) {
      const { etag } = await documentV3(documents, name);
      paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${etag.slice(1, -1)}` };
    }
    return [Buffer.from(`${JSON.stringify({ paths })}\n`)];
  });
  send(reply, built, "application/json", noCache);
}

async function serveV3(documents: Documents, name: string, hash: string, reply: Reply): Promise<void> {
  if (!documentNames(documents.scheme).has(name)) return sendNotFoundPage(reply);
  const accept = reply.exchange.header("accept") ?? "";
  if (accept !== "" && !/application\/(?:json|\*)|\*\/\*/.test(accept)) {
    return sendNotAcceptable(reply);
  }
  const built = await documentV3(documents, name);
  const current = built.etag.slice(1, -1);
  if (hash === "") return send(reply, built, "application/json", noCache);
  if (hash === current) return send(reply, built, "application/json", immutable);
  // What the client knew is gone: it finds what there is now under the new hash.
  reply.answered(301, 0);
  const headers: Headers = [...reply.extra, ...noCache, ["Location", `/openapi/v3/${name}?hash=${current}`]];
  reply.exchange.send(301, headers, "");
}

const noCache: Headers = [["Cache-Control", "no-cache, private"]];
/** Named by its hash, a document never changes. */
const immutable: Headers = [["Cache-Control", "public, immutable, max-age=31536000"]];

function send(reply: Reply, built: Built, contentType: string, cache: Headers): void {
  const { exchange } = reply;
  if (exchange.aborted) return;
  const headers: Headers = [
    ...reply.extra,
    ...cache,
    ["Content-Type", contentType],
    ["ETag", built.etag],
    ["Vary", "Accept, Accept-Encoding"],
  ];
  if (exchange.header("if-none-match") === built.etag) {
    reply.answered(304, 0);
    return exchange.send(304, headers, "");
  }
  const packed = acceptsGzip(exchange.header("accept-encoding")) ? built.packed : undefined;
  const body = packed ?? built.bytes;
  reply.answered(200, body.length);
  exchange.send(200, packed === undefined ? headers : [...headers, ["Content-Encoding", "gzip"]], body);
}

/** Builds a document unless it is there or on its way. */
function once(documents: Documents, name: string, build: () => Promise<readonly Uint8Array[]>): Promise<Built> {
  let promise = documents.byName.get(name);
  if (promise === undefined) {
    promise = finish(build);
    documents.byName.set(name, promise);
  }
  return promise;
}

async function finish(build: () => Promise<readonly Uint8Array[]>): Promise<Built> {
  const parts = await build();
  const slices = new Slices();
  const hash = createHash("sha256");
  for (const part of parts) {
    hash.update(part);
    await slices.next();
  }
  const bytes = Buffer.concat(parts);
  const packed = bytes.length < limits.gzipBytesMin ? undefined : await pack(bytes);
  return { bytes, packed, etag: `"${hash.digest("hex").toUpperCase()}"` };
}

/** Gives others a turn of the loop when some time has gone by. */
class Slices {
  #since = performance.now();

  async next(): Promise<void> {
    if (performance.now() - this.#since < limits.sliceMsMax) return;
    await nextTurn();
    this.#since = performance.now();
  }
}

function documentV3(documents: Documents, name: string): Promise<Built> {
  return once(documents, `v3/${name}`, async () => {
    const { scheme, title, release, kindsOf } = documents;
    const { group = "", version = "" } = documentNames(scheme).get(name) ?? {};
    const context: SchemaContext = { identity: scheme.identity, version: 3, kindsOf };
    const definitions = definitionsOf(context, rootMessages(scheme, group, version));
    addScalar(context, definitions, "Patch");
    const info = JSON.stringify({ title, version: release });
    const parts = [Buffer.from(`{"openapi":"3.0.0","info":${info},"paths":{`)];
    await addJson(parts, groupVersionPaths(context, scheme, group, version));
    parts.push(Buffer.from('},"components":{"schemas":{'));
    await addJson(parts, schemas(definitions));
    parts.push(Buffer.from("}}}"));
    return parts;
  });
}

async function buildV2(documents: Documents, protobuf: boolean): Promise<readonly Uint8Array[]> {
  const { scheme, title, release, kindsOf } = documents;
  const context: SchemaContext = { identity: scheme.identity, version: 2, kindsOf };
  const roots = new Set<Message>();
  for (const { group, version } of documentNames(scheme).values()) {
    for (const message of rootMessages(scheme, group, version)) roots.add(message);
  }
  const definitions = definitionsOf(context, roots);
  addScalar(context, definitions, "Patch");
  const paths = allPaths(context, scheme);
  if (protobuf) return buildV2Protobuf(title, release, paths, schemas(definitions));
  const info = JSON.stringify({ title, version: release });
  const parts = [Buffer.from(`{"swagger":"2.0","info":${info},"paths":{`)];
  await addJson(parts, paths);
  parts.push(Buffer.from('},"definitions":{'));
  await addJson(parts, schemas(definitions));
  parts.push(Buffer.from("}}"));
  return parts;
}

async function buildV2Protobuf(
  title: string,
  release: string,
  paths: Iterable<PathEntry>,
  definitions: Iterable<readonly [string, Schema]>,
): Promise<readonly Uint8Array[]> {
  const slices = new Slices();
  const parts: Uint8Array[] = [];
  let pathsBytes = 0;
  let definitionsBytes = 0;
  for (const [path, item] of paths) {
    const part = encodePath(path, item);
    pathsBytes += part.length;
    parts.push(part);
    await slices.next();
  }
  const pathCount = parts.length;
  for (const [name, schema] of definitions) {
    const part = encodeDefinition(name, schema);
    definitionsBytes += part.length;
    parts.push(part);
    await slices.next();
  }
  const { head, between } = encodeFrame(title, release, pathsBytes, definitionsBytes);
  return [head, ...parts.slice(0, pathCount), between, ...parts.slice(pathCount)];
}

function* allPaths(context: SchemaContext, scheme: Scheme): Generator<PathEntry> {
  yield* rootPaths(context, scheme);
  for (const { group, version } of documentNames(scheme).values()) {
    yield* groupVersionPaths(context, scheme, group, version);
  }
}

function* schemas(definitions: ReadonlyMap<string, () => Schema>): Generator<readonly [string, Schema]> {
  for (const [name, schema] of definitions) yield [name, schema()];
}

/** Adds the members of a JSON object, without its braces. */
async function addJson(parts: Buffer[], entries: Iterable<readonly [string, object]>): Promise<void> {
  const slices = new Slices();
  let comma = "";
  for (const [name, value] of entries) {
    parts.push(Buffer.from(`${comma}${JSON.stringify(name)}:${JSON.stringify(value)}`));
    comma = ",";
    await slices.next();
  }
}
