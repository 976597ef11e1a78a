// Files in the format of client configurations: how to reach a server, and with which credentials. The server reads
// them to call webhooks (the document's "connection file in client config format"), clients to call the server.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { plainOf, type Value } from "../api/value.ts";
import { Fault } from "../codec/engine/json.ts";
import { parseYaml } from "../codec/yaml/yaml.ts";
import type { FileCheck } from "../config/filecheck.ts";
import { type Connection, checkUrl } from "./client.ts";

/** One context of a file. */
export interface ClientFile {
  /** With the credentials in the file itself. */
  readonly connection: Connection;
  readonly cluster: Value;
  /** Undefined: the context names no user. */
  readonly user: Value | undefined;
  /** The base of relative paths. */
  readonly directory: string;
}

/** The credentials of a Connection. */
export type Login = Pick<Connection, "certificate" | "key" | "authorization">;

/** Credentials by the name of the peer. */
export interface Logins {
  readonly byName: ReadonlyMap<string, Login>;
  /** Name of the user of the current context; empty: there is none. */
  readonly current: string;
}

/**
 * Reads the users of a file, named after their peers; its clusters are ignored. Returns an error message of one line:
 * plugins, identity providers and impersonation are not supported there.
 */
export function readLogins(path: string, check: FileCheck): Logins | string {
  return readDocument(path, check, (document, directory) => {
    const byName = new Map<string, Login>();
    for (const item of list(document, "users")) {
      const name = text(item, "name");
      const user = field(item, "user") ?? null;
      const unused = ["exec", "auth-provider", "as", "as-groups", "as-user-extra"].find((key) => field(user, key));
      if (unused !== undefined) throw new ConnectionFault(`user ${JSON.stringify(name)}: ${unused} is not supported`);
      const login = loginOf(user, directory);
      checkPair(name, login);
      // As elsewhere in such files, the first of a name counts.
      if (!byName.has(name)) byName.set(name, login);
    }
    const wanted = text(document, "current-context");
    const context = wanted === "" ? undefined : named(list(document, "contexts"), wanted, "context");
    return { byName, current: context === undefined ? "" : text(context, "user") };
  });
}

/** Reads a file for its current context; returns an error message of one line. */
export function readConnection(path: string, check: FileCheck): Connection | string {
  const file = readClientFile(path, check);
  return typeof file === "string" ? file : file.connection;
}

/** Reads a file for a context; absent: its current one. Returns an error message of one line. */
export function readClientFile(path: string, check: FileCheck, context?: string): ClientFile | string {
  return readDocument(path, check, (document, directory) => clientFileOf(document, directory, context));
}

/** Reads a file as `read` says, which may throw a ConnectionFault. */
function readDocument<T>(path: string, check: FileCheck, read: (document: Value, directory: string) => T): T | string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return `cannot read ${path}: ${(error as Error).message}`;
  }
  const document = parseYaml(bytes);
  if (document instanceof Fault) return `${path}: ${document.message}`;
  const wrong = check("kubeconfig", plainOf(document) ?? {});
  if (wrong !== undefined) return `${path}: ${wrong}`;
  try {
    return read(document, dirname(path));
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
  return {
    url,
    insecure: field(cluster, "insecure-skip-tls-verify") === true,
    authorities: material(cluster, "certificate-authority", directory),
    serverName: serverName === "" ? undefined : serverName,
    ...(user === undefined ? {} : loginOf(user, directory)),
  };
}

function loginOf(user: Value, directory: string): Login {
  const certificate = material(user, "client-certificate", directory);
  const key = material(user, "client-key", directory);
  if ((certificate === undefined) !== (key === undefined)) {
    throw new ConnectionFault("client-certificate and client-key belong together");
  }
  return { certificate, key, authorization: authorizationOf(user, directory) };
}

/** A certificate that cannot be used shows when the file is read, not at the first call. */
function checkPair(name: string, { certificate, key }: Login): void {
  if (certificate === undefined || key === undefined) return;
  try {
    createSecureContext({ cert: certificate, key });
  } catch (error) {
    throw new ConnectionFault(
      `user ${JSON.stringify(name)}: its certificate and key cannot be used: ${(error as Error).message}`,
    );
  }
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

/** Files change: a checked file may have changed when it is read again, and must not pass for an absent field. */
function text(value: Value, key: string): string {
  const found = field(value, key) ?? "";
  if (typeof found !== "string") throw new ConnectionFault(`${key} must be a string`);
  return found;
}

function list(value: Value, key: string): readonly Value[] {
  const found = field(value, key) ?? [];
  if (!Array.isArray(found)) throw new ConnectionFault(`${key} must be a list`);
  return found;
}
