// `/openapi/v2` and `/openapi/v3`: documents that are put together when they are asked for (openapidocuments.ts), found by their
// hash. Version 3 has an index that names each document with its hash, so that clients may keep what they have.
import { timedOut } from "../../api/status.ts";
import type { Objects } from "../../cache/view/objects.ts";
import { limits } from "../../config/limits.ts";
import { definedSchema } from "../../openapi/openapidefined.ts";
import { gzipOpening, type Reply, sendNotFoundPage, sendStatus, sendStreamHead } from "../answer/response.ts";
import { writeChunks } from "../answer/stream.ts";
import type { Server } from "../call/context.ts";
import type { Headers } from "../exchange/transport.ts";
import { methodNotAllowed, type NonResourceInfo } from "../route/info.ts";
import { acceptsGzip } from "../route/negotiate.ts";
import { first } from "../route/query.ts";
import { type DefinedSchema, type Documents, documentsOf } from "./openapidocuments.ts";
import { type Document, DocumentChunks, wholeOf } from "./openapiparts.ts";

const protobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const jsonV2 = "application/com.github.proto-openapi.spec.v2.v1.0+json";
const protobufTypes = new Set([protobufV2, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"]);

/** Answers a request under `/openapi`; false: nothing is served there. */
export async function serveOpenApi(server: Server, info: NonResourceInfo, reply: Reply): Promise<boolean> {
  const path = info.path.replace(/\/$/, "");
  if (path !== "/openapi/v2" && path !== "/openapi/v3" && !path.startsWith("/openapi/v3/")) return false;
  const { gitVersion = "" } = JSON.parse(server.version) as { gitVersion?: string };
  const { openApi } = server.extensions;
  await openApi[path === "/openapi/v2" ? "v2" : "v3"].refresh(server.scheme.current().remotes);
  const documents = documentsOf(server.scheme, gitVersion, definedIn(server.objects), openApi);
  const reads = info.verb === "get" || info.verb === "head";
  if (path === "/openapi/v2") await serveV2(documents, reply);
  else if (!reads) sendStatus(reply, methodNotAllowed);
  else if (path === "/openapi/v3") await serveIndex(documents, reply);
  else await serveV3(documents, path.slice("/openapi/v3/".length), first(info.query, "hash") ?? "", reply);
  return true;
}

/** Reads definitions as they are stored. */
export function definedIn(objects: Objects): DefinedSchema {
  return ({ group, resource, version }) => {
    const view = objects.view("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    view?.drain();
    const at = view?.get("", `${resource}.${group}`) ?? 0;
    return view === undefined || at === 0 ? undefined : definedSchema(view.object(at), version);
  };
}

async function serveV2(documents: Documents, reply: Reply): Promise<void> {
  const form = formV2(reply.exchange.header("accept"));
  if (form === undefined) return sendNotAcceptable(reply);
  const protobuf = form === "protobuf";
  const document = await documents.v2(protobuf ? "v2 protobuf" : "v2");
  // Upstream leaves both types to a guess from the first bytes; clients rely on neither.
  await send(reply, document, protobuf ? "application/octet-stream" : "text/plain; charset=utf-8", noCache);
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
  await send(reply, await documents.index(), "application/json", noCache);
}

async function serveV3(documents: Documents, name: string, hash: string, reply: Reply): Promise<void> {
  const isHidden = hash === "" && documents.isUnlisted(name);
  const document = isHidden ? undefined : await documents.v3(name);
  if (document === undefined) return sendNotFoundPage(reply);
  const accept = reply.exchange.header("accept") ?? "";
  if (accept !== "" && !/application\/(?:json|\*)|\*\/\*/.test(accept)) {
    return sendNotAcceptable(reply);
  }
  const current = document.etag.slice(1, -1);
  if (hash === "") return send(reply, document, "application/json", noCache);
  if (hash === current) return send(reply, document, "application/json", immutable);
  // What the client knew is gone: it finds what there is now under the new hash.
  reply.answered(301, 0);
  const headers: Headers = [...reply.extra, ...noCache, ["Location", `/openapi/v3/${name}?hash=${current}`]];
  reply.exchange.send(301, headers, "");
}

const noCache: Headers = [["Cache-Control", "no-cache, private"]];
/** Named by its hash, a document never changes. */
const immutable: Headers = [["Cache-Control", "public, immutable, max-age=31536000"]];

async function send(reply: Reply, document: Document, contentType: string, cache: Headers): Promise<void> {
  const { exchange } = reply;
  if (exchange.aborted) return;
  const { bytes, packedBytes, etag } = document;
  const headers: Headers = [
    ...reply.extra,
    ...cache,
    ["Content-Type", contentType],
    ["ETag", etag],
    ["Vary", "Accept, Accept-Encoding"],
  ];
  if (exchange.header("if-none-match") === etag) {
    reply.answered(304, 0);
    return exchange.send(304, headers, "");
  }
  const packs = bytes >= limits.gzipBytesMin && acceptsGzip(exchange.header("accept-encoding"));
  const all: Headers = packs ? [...headers, ["Content-Encoding", "gzip"]] : headers;
  if ((packs ? packedBytes : bytes) <= limits.listChunkBytes) {
    const body = await wholeOf(document, packs);
    if (exchange.aborted) return;
    if (body === undefined) return sendStatus(reply, timedOut);
    reply.answered(200, body.length);
    return exchange.send(200, all, body);
  }
  if (exchange.method === "HEAD") return sendStreamHead(reply, all);
  const chunks = new DocumentChunks(document, packs);
  const start = await chunks.next();
  if (exchange.aborted) return;
  reply.answered(200, -1);
  const stream = exchange.stream(200, all, { opening: packs ? gzipOpening : undefined });
  await writeChunks(reply, stream, chunks, start, () => chunks.isGone);
}
