// A client of the API that logs in as its configuration file says: with a certificate, a token, a plugin or an identity
// provider. A 401 makes it fetch its credential anew, once; a new certificate closes the connections of the old one.
import type { Identity } from "../api/identity.ts";
import type { Value } from "../api/value.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { checkedBefore } from "../config/filecheck.ts";
import { type Answer, type Call, CallFailure, type Connection, OutboundClient } from "../outbound/client.ts";
import { type ClientFile, readClientFile } from "../outbound/connection.ts";
import { ExecPlugin, readExec } from "./exec.ts";
import { OidcToken, RenewalFailure, readOidc } from "./oidc.ts";

/** How a client is opened. */
export interface ClientOptions {
  /** Path of the configuration file. */
  readonly config: string;
  /** Left out: the file's current one. */
  readonly context?: string;
  readonly identity: Identity;
  /** Whether a plugin may ask on standard input. */
  readonly interactive?: boolean;
  readonly clock?: Clock;
}

/** What is sent as oneself at one moment. */
interface Login {
  readonly authorization: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** The server refused it. */
  readonly refused: () => void;
}

/** Where logins come from; a text says why there is none. */
type Source = () => Promise<Login | string>;

/** Opens a client; a text says what is wrong with its configuration. */
export function openClient(options: ClientOptions): ApiClient | string {
  const file = readClientFile(options.config, checkedBefore, options.context);
  if (typeof file === "string") return file;
  const source = sourceOf(file, options);
  return typeof source === "string" ? `${options.config}: ${source}` : new ApiClient(file.connection, source);
}

/** Calls one server. */
export class ApiClient {
  readonly #connection: Connection;
  readonly #source: Source;
  #client: OutboundClient | undefined;
  /** Certificate and key of the connections there are. */
  #material = "";

  constructor(connection: Connection, source: Source) {
    this.#connection = connection;
    this.#source = source;
  }

  /** Makes a call. Never rejects; whoever has no credential gets a failure that says why. */
  async call(call: Call): Promise<Answer | CallFailure> {
    const first = await this.#callOnce(call);
    if (first.refused === undefined) return first.outcome;
    first.refused();
    return (await this.#callOnce(call)).outcome;
  }

  /** Closes its connections. */
  close(): void {
    this.#client?.close();
  }

  async #callOnce(call: Call): Promise<{ outcome: Answer | CallFailure; refused?: () => void }> {
    const login = await this.#source();
    if (typeof login === "string") return { outcome: new CallFailure("closed", login) };
    const { authorization, certificate, key, refused } = login;
    const headers = authorization === undefined ? {} : { Authorization: authorization };
    const outcome = await this.#clientFor(certificate, key).call({ ...call, headers: { ...headers, ...call.headers } });
    if (outcome instanceof CallFailure || outcome.code !== 401) return { outcome };
    return { outcome, refused };
  }

  #clientFor(certificate: string | undefined, key: string | undefined): OutboundClient {
    const material = `${certificate}\n${key}`;
    if (this.#client === undefined || material !== this.#material) {
      this.#client?.close();
      this.#client = new OutboundClient({ ...this.#connection, authorization: undefined, certificate, key });
      this.#material = material;
    }
    return this.#client;
  }
}

function sourceOf({ connection, cluster, user, directory }: ClientFile, options: ClientOptions): Source | string {
  const { identity, clock = systemClock, interactive = false } = options;
  const { authorization, certificate, key } = connection;
  const plain: Login = { authorization, certificate, key, refused: () => undefined };
  const exec = user instanceof Map ? user.get("exec") : undefined;
  if (exec !== undefined && exec !== null) {
    const settings = readExec(exec, directory, identity);
    if (typeof settings === "string") return settings;
    const shown = clusterInfo(cluster, connection, identity);
    const plugin = new ExecPlugin(settings, { identity, clock, cluster: shown, interactive });
    return async () => {
      const found = await plugin.credential();
      if (typeof found === "string") return found;
      const bearer = found.token === undefined ? undefined : `Bearer ${found.token}`;
      const refused = (): void => plugin.refused(found);
      return { authorization: bearer, certificate: found.certificate, key: found.key, refused };
    };
  }
  const provider = user instanceof Map ? user.get("auth-provider") : undefined;
  if (!(provider instanceof Map)) return () => Promise.resolve(plain);
  if (provider.get("name") !== "oidc")
    return `no auth provider ${JSON.stringify(provider.get("name"))}; there is: oidc`;
  const settings = readOidc(provider.get("config") ?? null, undefined);
  if (typeof settings === "string") return settings;
  const tokens = new OidcToken(settings, clock);
  return async () => {
    const token = await tokens.token();
    if (token instanceof RenewalFailure) return token.message;
    return { ...plain, authorization: `Bearer ${token}`, refused: () => tokens.refused(token) };
  };
}

/** What a plugin is told of the cluster; `config` is the extension the cluster has for plugins. */
function clusterInfo(
  cluster: Value,
  { url, authorities, serverName, insecure }: Connection,
  identity: Identity,
): Value {
  const info = new Map<string, Value>([["server", url]]);
  if (serverName !== undefined) info.set("tls-server-name", serverName);
  if (insecure === true) info.set("insecure-skip-tls-verify", true);
  if (authorities !== undefined) info.set("certificate-authority-data", Buffer.from(authorities).toString("base64"));
  const extensions = cluster instanceof Map ? cluster.get("extensions") : undefined;
  const reserved = identity.spell("client.authentication.k8s.io/exec");
  const own = (Array.isArray(extensions) ? extensions : []).find(
    (item) => item instanceof Map && item.get("name") === reserved,
  );
  info.set("config", (own instanceof Map ? own.get("extension") : undefined) ?? null);
  return info;
}
