// Files in the format of client configurations: how to reach a server, and as whom. The server reads them to call
// webhooks (the document's "connection file in client config format"), clients to call the server.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Value } from "../api/value.ts";
import { Fault } from "../codec/json.ts";
import { parseYaml } from "../codec/yaml.ts";
import { type Connection, checkUrl } from "./client.ts";

/** What a file says of one context. */
export interface ClientFile {
  /** With the credentials that stand in the file itself. */
  readonly connection: Connection;
  readonly cluster: Value;
  /** Undefined: the context names no user. */
  readonly user: Value | undefined;
  /** What relative paths are relative to. */
  readonly directory: string;
}

/** Reads a file for its current context; a text says in one line what is wrong with it. */
export function readConnection(path: string): Connection | string {
  const file = readClientFile(path);
  return typeof file === "string" ? file : file.connection;
}

/** Reads a file for a context; left out: its current one. A text says in one line what is wrong with it. */
export function readClientFile(path: string, context?: string): ClientFile | string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return `cannot read ${path}: ${(error as Error).message}`;
  }
  const document = parseYaml(bytes);
  if (document instanceof Fault) return `${path}: ${document.message}`;
  try {
    return clientFileOf(document, dirname(path), context);
  } catch (error) {
    if (error instanceof ConnectionFault) return `${path}: ${error.message}`;
    throw error;
  }
}

class ConnectionFault extends Error {}

function clientFileOf(document: Value, directory: string, contextName: string | undefined): ClientFile {
  const contexts = list(document, "contexts");
  const wanted = contextName ?? text(document, "current-context");
  const context = wanted === "" ? undefined : named(contexts, wanted, "context");
  const cluster = entry(document, "clusters", "cluster", context === undefined ? "" : text(context, "cluster"));
  const user = entry(document, "users", "user", context === undefined ? "" : text(context, "user"));
  if (cluster === undefined) throw new ConnectionFault("it names no cluster");
  return { connection: connectionOf(cluster, user, directory), cluster, user, directory };
}

function connectionOf(cluster: Value, user: Value | undefined, directory: string): Connection {
  const url = text(cluster, "server");
  const fault = checkUrl(url);
  if (fault !== undefined) throw new ConnectionFault(`server ${fault}`);
  const serverName = text(cluster, "tls-server-name");
  const certificate = user === undefined ? undefined : material(user, "client-certificate", directory);
  const key = user === undefined ? undefined : material(user, "client-key", directory);
  if ((certificate === undefined) !== (key === undefined)) {
    throw new ConnectionFault("client-certificate and client-key belong together");
  }
  return {
    url,
    insecure: field(cluster, "insecure-skip-tls-verify") === true,
    authorities: material(cluster, "certificate-authority", directory),
    serverName: serverName === "" ? undefined : serverName,
    certificate,
    key,
    authorization: user === undefined ? undefined : authorizationOf(user, directory),
  };
}

function authorizationOf(user: Value, directory: string): string | undefined {
  const file = text(user, "tokenFile");
  const token = file === "" ? text(user, "token") : readText(resolve(directory, file)).trim();
  if (token !== "") return `Bearer ${token}`;
  const name = text(user, "username");
  if (name === "") return undefined;
  return `Basic ${Buffer.from(`${name}:${text(user, "password")}`).toString("base64")}`;
}

/** The named entry of a list, or the only one when nothing is named. */
function entry(document: Value, key: string, inner: string, name: string): Value | undefined {
  const items = list(document, key);
  if (name !== "") return named(items, name, inner);
  return items.length === 0 ? undefined : field(items[0] ?? null, inner);
}

function named(items: readonly Value[], name: string, inner: string): Value {
  const found = items.find((item) => text(item, "name") === name);
  const value = found === undefined ? undefined : field(found, inner);
  if (value === undefined) throw new ConnectionFault(`it has no ${inner} ${JSON.stringify(name)}`);
  return value;
}

/** PEM text from `<key>-data` (base64) or the file `<key>` names. */
function material(value: Value, key: string, directory: string): string | undefined {
  const data = text(value, `${key}-data`);
  if (data !== "") return Buffer.from(data, "base64").toString();
  const file = text(value, key);
  return file === "" ? undefined : readText(resolve(directory, file));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ConnectionFault(`cannot read ${path}: ${(error as Error).message}`);
  }
}

function field(value: Value, key: string): Value | undefined {
  return value instanceof Map ? value.get(key) : undefined;
}

function text(value: Value, key: string): string {
  const found = field(value, key) ?? "";
  if (typeof found !== "string") throw new ConnectionFault(`${key} must be a text`);
  return found;
}

function list(value: Value, key: string): readonly Value[] {
  const found = field(value, key) ?? [];
  if (!Array.isArray(found)) throw new ConnectionFault(`${key} must be a list`);
  return found;
}
