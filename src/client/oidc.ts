// An ID token of an OpenID Connect provider, renewed with the refresh token when it has expired (client configurations
// with the auth-provider `oidc`). What is renewed is kept in memory: the file is not written.
import { textAt, type Value } from "../api/value.ts";
import type { Clock } from "../base/clock.ts";
import { Fault, parseJson } from "../codec/engine/json.ts";
import { limits } from "../config/limits.ts";
import { type Answer, CallFailure, OutboundClient } from "../outbound/client.ts";

/** What an auth-provider's `config` says. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly idToken: string;
  readonly refreshToken: string;
  /** PEM; undefined: the system's. */
  readonly authorities: string | undefined;
}

/** Reads a `config`; a text says what is wrong with it. */
export function readOidc(config: Value, authorities: string | undefined): OidcSettings | string {
  if (!(config instanceof Map)) return "auth-provider.config must be an object";
  const text = (key: string): string => textAt(config, key);
  const [issuer, clientId] = [text("idp-issuer-url"), text("client-id")];
  if (issuer === "") return "auth-provider.config.idp-issuer-url must be set";
  if (clientId === "") return "auth-provider.config.client-id must be set";
  const inline = text("idp-certificate-authority-data");
  return {
    issuer,
    clientId,
    clientSecret: text("client-secret"),
    idToken: text("id-token"),
    refreshToken: text("refresh-token"),
    authorities: inline === "" ? authorities : Buffer.from(inline, "base64").toString(),
  };
}

/** One user's ID token. */
export class OidcToken {
  readonly #settings: OidcSettings;
  readonly #clock: Clock;
  #idToken: string;
  #refreshToken: string;
  #running: Promise<string | RenewalFailure> | undefined;

  constructor(settings: OidcSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#idToken = settings.idToken;
    this.#refreshToken = settings.refreshToken;
  }

  /** A token that has not expired. */
  token(): Promise<string | RenewalFailure> {
    if (this.#idToken !== "" && expiresMs(this.#idToken) > this.#clock.now()) return Promise.resolve(this.#idToken);
    this.#running ??= this.#renew().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** The server refused a token: it is renewed, unless another one came meanwhile. */
  refused(token: string): void {
    if (this.#idToken === token) this.#idToken = "";
  }

  async #renew(): Promise<string | RenewalFailure> {
    const { issuer, clientId, clientSecret, authorities } = this.#settings;
    if (this.#refreshToken === "")
      return new RenewalFailure("No valid id-token, and cannot refresh without refresh-token");
    const timeoutMs = limits.requestMsMax;
    const provider = new OutboundClient({ url: issuer, authorities });
    const path = "/.well-known/openid-configuration";
    const discovered = await provider.call({ method: "GET", path, timeoutMs });
    provider.close();
    const endpoint = textIn(discovered, "token_endpoint");
    if (endpoint instanceof RenewalFailure) return endpoint;
    const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: this.#refreshToken });
    const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString("base64");
    const tokens = new OutboundClient({ url: endpoint, authorities, authorization: `Basic ${basic}` });
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const answer = await tokens.call({ method: "POST", headers, body: form.toString(), timeoutMs });
    tokens.close();
    const idToken = textIn(answer, "id_token");
    if (idToken instanceof RenewalFailure) return idToken;
    const next = textIn(answer, "refresh_token");
    if (!(next instanceof RenewalFailure)) this.#refreshToken = next;
    this.#idToken = idToken;
    return idToken;
  }
}

/** Why there is no token. */
export class RenewalFailure {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** A text of a JSON answer; what is wrong never holds any of it. */
function textIn(answer: Answer | CallFailure, key: string): string | RenewalFailure {
  if (answer instanceof CallFailure)
    return new RenewalFailure(`the identity provider gave no answer: ${answer.message}`);
  if (answer.code !== 200) return new RenewalFailure(`the identity provider answered ${answer.code}`);
  const document = parseJson(answer.body);
  const value = document instanceof Map ? document.get(key) : undefined;
  if (document instanceof Fault || typeof value !== "string" || value === "") {
    return new RenewalFailure(`the identity provider gave no ${key}`);
  }
  return value;
}

/** When a JWT expires, by its own word; what cannot be read has expired. The server verifies it, not the client. */
function expiresMs(token: string): number {
  const claims = parseJson(Buffer.from(token.split(".")[1] ?? "", "base64url"));
  const exp = claims instanceof Map ? claims.get("exp") : undefined;
  return typeof exp === "number" ? exp * 1000 : 0;
}
