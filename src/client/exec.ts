// Credentials from a plugin: an external command that prints an ExecCredential (the document's "Credential plugin
// configuration"). What it printed is used until it expires, until the server answers 401, or until this process ends.
import { spawn } from "node:child_process";
import { delimiter, isAbsolute, resolve as resolvePath } from "node:path";
import { quote } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import { textAt, type Value, type ValueMap } from "../api/value.ts";
import type { Clock } from "../base/clock.ts";
import { Fault, parseJson, writeValue } from "../codec/engine/json.ts";
import { limits } from "../config/limits.ts";

/** What a user's `exec` says. */
export interface ExecSettings {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  /** Group and version of the ExecCredential both sides speak. */
  readonly apiVersion: string;
  /** Empty: none. */
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
}

/** What a plugin gave: a token, or a certificate with its key. */
export interface ExecCredential {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** Wall clock, milliseconds; undefined: until the server refuses it. */
  readonly expiresMs: number | undefined;
}

const modes = ["Never", "IfAvailable", "Always"] as const;

/** Reads a user's `exec`; a text says what is wrong with it. */
export function readExec(exec: Value, directory: string, { spell }: Identity): ExecSettings | string {
  if (!(exec instanceof Map)) return "exec must be an object";
  const command = textAt(exec, "command");
  if (command === "") return "exec.command must name a command";
  const group = spell("client.authentication.k8s.io");
  const apiVersion = textAt(exec, "apiVersion");
  const known = [`${group}/v1`, `${group}/v1beta1`];
  if (!known.includes(apiVersion)) return `exec.apiVersion must be one of ${known.join(", ")}: ${quote(apiVersion)}`;
  const said = textAt(exec, "interactiveMode");
  const mode = said === "" && apiVersion.endsWith("v1beta1") ? "IfAvailable" : said;
  const interactiveMode = modes.find((one) => one === mode);
  if (interactiveMode === undefined) return `exec.interactiveMode must be one of ${modes.join(", ")}: ${quote(said)}`;
  const args = exec.get("args") ?? [];
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) return "exec.args must be a list of texts";
  const env = readEnv(exec.get("env") ?? []);
  if (typeof env === "string") return env;
  return {
    // A path is relative to the file; a bare name is looked up in PATH.
    command: command.includes("/") && !isAbsolute(command) ? resolvePath(directory, command) : command,
    args: args as string[],
    env,
    apiVersion,
    installHint: textAt(exec, "installHint"),
    provideClusterInfo: exec.get("provideClusterInfo") === true,
    interactiveMode,
  };
}

function readEnv(list: Value): (readonly [string, string])[] | string {
  if (!Array.isArray(list)) return "exec.env must be a list of name and value";
  const pairs = list.map((item) =>
    item instanceof Map ? ([item.get("name"), item.get("value")] as const) : undefined,
  );
  const isPair = (pair: unknown): pair is readonly [string, string] =>
    Array.isArray(pair) && typeof pair[0] === "string" && pair[0] !== "" && typeof pair[1] === "string";
  return pairs.every(isPair) ? pairs : "exec.env must be a list of name and value";
}

/** What a plugin needs to know, and what it is run with. */
export interface ExecContext {
  readonly identity: Identity;
  readonly clock: Clock;
  /** `spec.cluster` for plugins that ask for it. */
  readonly cluster: Value;
  /** Standard input is a terminal, at which a user can be asked. */
  readonly interactive: boolean;
}

/** One plugin's credential, fetched when it is needed. */
export class ExecPlugin {
  readonly #settings: ExecSettings;
  readonly #context: ExecContext;
  #known: ExecCredential | undefined;
  /** One run serves every caller that waits for it. */
  #running: Promise<ExecCredential | string> | undefined;

  constructor(settings: ExecSettings, context: ExecContext) {
    this.#settings = settings;
    this.#context = context;
  }

  /** The credential to use now; a text says why there is none. */
  credential(): Promise<ExecCredential | string> {
    const known = this.#known;
    const now = this.#context.clock.now();
    if (known !== undefined && (known.expiresMs === undefined || known.expiresMs > now)) return Promise.resolve(known);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** The server refused a credential: it is fetched again, unless another one came meanwhile. */
  refused(credential: ExecCredential): void {
    if (this.#known === credential) this.#known = undefined;
  }

  async #run(): Promise<ExecCredential | string> {
    const { interactiveMode, apiVersion } = this.#settings;
    const { interactive } = this.#context;
    if (interactiveMode === "Always" && !interactive) {
      return "exec plugin cannot support interactive mode: standard input is unavailable";
    }
    const output = await this.#execute(interactive && interactiveMode !== "Never");
    if (typeof output === "string") return output;
    const credential = readCredential(output, apiVersion);
    if (typeof credential === "string") return `exec plugin ${quote(this.#settings.command)}: ${credential}`;
    this.#known = credential;
    return credential;
  }

  #info(interactive: boolean): string {
    const spec: ValueMap = new Map<string, Value>();
    if (this.#settings.provideClusterInfo) spec.set("cluster", this.#context.cluster);
    spec.set("interactive", interactive);
    return writeValue(
      new Map<string, Value>([
        ["kind", "ExecCredential"],
        ["apiVersion", this.#settings.apiVersion],
        ["spec", spec],
      ]),
    );
  }

  #execute(interactive: boolean): Promise<Buffer | string> {
    const { command, args, env, installHint } = this.#settings;
    const variable = this.#context.identity.spell("KUBERNETES_EXEC_INFO");
    const child = spawn(command, args, {
      env: { ...process.env, ...Object.fromEntries(env), [variable]: this.#info(interactive) },
      stdio: [interactive ? "inherit" : "ignore", "pipe", "inherit"],
    });
    return new Promise((resolve) => {
      // Not spawn's own limit: its timer outlives a command that does not exist.
      const timer = setTimeout(() => child.kill("SIGKILL"), limits.execPluginMsMax);
      const done = (outcome: Buffer | string): void => {
        clearTimeout(timer);
        resolve(outcome);
      };
      const chunks: Buffer[] = [];
      let bytes = 0;
      child.stdout?.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= limits.execPluginBytesMax) chunks.push(chunk);
        else child.kill("SIGKILL");
      });
      child.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") return done(`exec plugin ${quote(command)}: ${error.message}`);
        const hint = installHint === "" ? "" : `\n\n${installHint}`;
        const where = command.includes("/") ? "" : ` in ${(process.env["PATH"] ?? "").split(delimiter).length} folders`;
        done(`exec: executable ${command} not found${where}${hint}`);
      });
      child.on("close", (code, signal) => {
        if (bytes > limits.execPluginBytesMax) {
          done(`exec plugin ${quote(command)} printed more than ${limits.execPluginBytesMax} bytes`);
        } else if (code !== 0) done(`exec: executable ${command} failed with ${signal ?? `exit code ${code}`}`);
        else done(Buffer.concat(chunks));
      });
    });
  }
}

/** Reads what a plugin printed; a text says what is wrong with it, and holds nothing of it. */
export function readCredential(output: Uint8Array, apiVersion: string): ExecCredential | string {
  const document = parseJson(output);
  if (document instanceof Fault || !(document instanceof Map)) return "it printed no JSON object";
  if (document.get("kind") !== "ExecCredential") return "it printed no ExecCredential";
  const said = textAt(document, "apiVersion");
  if (said !== apiVersion) return `it is configured for ${apiVersion} and answered in ${quote(said)}`;
  const status = document.get("status");
  if (!(status instanceof Map)) return "it printed no status";
  const some = (key: string): string | undefined => textAt(status, key) || undefined;
  const [token, certificate, key] = [some("token"), some("clientCertificateData"), some("clientKeyData")];
  if (token === undefined && certificate === undefined && key === undefined) {
    return "it printed neither a token nor a certificate with its key";
  }
  if ((certificate === undefined) !== (key === undefined)) return "certificate and key belong together";
  const expires = some("expirationTimestamp");
  const expiresMs = expires === undefined ? undefined : Date.parse(expires);
  if (Number.isNaN(expiresMs)) return "expirationTimestamp is no time";
  return { token, certificate, key, expiresMs };
}
