// `orch top`: the console in a terminal. Asks a server for its figures every two seconds, as an administrator, by a client
// configuration (by default the one that the server wrote) or by flags.
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { checkedBefore } from "../../config/filecheck.ts";
import type { Flag, FlagValues } from "../../config/flag.ts";
import type { ConsoleData } from "../../observe/console/data.ts";
import { topText } from "../../observe/console/toptext.ts";
import { type Connection, checkUrl, tlsOf } from "../../outbound/client.ts";
import { readConnection } from "../../outbound/connection.ts";
import { BootFault, mending } from "../fault.ts";

/** Flags of the command, beside --data-dir, where the client configuration is looked for. */
export const topFlags: readonly Flag[] = [
  { name: "kubeconfig", group: "Commands", type: "string", default: "", help: "A client configuration file." },
  { name: "server", group: "Commands", type: "string", default: "", help: "URL of the server." },
  { name: "token", group: "Commands", type: "string", default: "", help: "Bearer token of an administrator." },
  {
    name: "certificate-authority",
    group: "Commands",
    type: "string",
    default: "",
    help: "PEM file the server's certificate is verified by.",
  },
  { name: "once", group: "Commands", type: "bool", default: "false", help: "Print once, of one second, and end." },
];

/** Between two looks, milliseconds; of one that is printed once, less. */
const periodMs = 2000;
const onceMs = 1000;
/** A server that does not answer for so long is reported, milliseconds. */
const answerMsMax = 10_000;
const answerBytesMax = 4_000_000;
/** Of output that is no terminal. */
const plainColumns = 160;
/** Cursor to the top left, and what is below it cleared. */
const clear = "\x1b[H\x1b[J";

/** What the command writes to. */
export interface TopOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Prints until the process is ended; with --once one time. Rejects with BootFault. */
export async function runTop(values: FlagValues, output: TopOutput): Promise<void> {
  const connection = connectionOf(values);
  const isOnce = values.get("once") === "true";
  let before = await ask(connection);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, isOnce ? onceMs : periodMs));
    const now = await ask(connection);
    const text = topText(before, now, output.columns ?? plainColumns);
    output.write(output.isTTY === true && !isOnce ? `${clear}${text}` : text);
    if (isOnce) return;
    before = now;
  }
}

/** How the server is reached: by the file, and by flags in place of what it says. */
export function connectionOf(values: FlagValues): Connection {
  const flag = (name: string): string => values.get(name) ?? "";
  const own = join(flag("data-dir"), "kubeconfig");
  const file = flag("kubeconfig") || (existsSync(own) ? own : "");
  const read = file === "" ? undefined : readConnection(file, checkedBefore);
  if (typeof read === "string") throw new BootFault(read);
  const url = flag("server") || read?.url;
  if (url === undefined)
    throw new BootFault(`there is no ${own}: name a file by --kubeconfig, or a server by --server and --token`);
  const wrong = checkUrl(url);
  if (wrong !== undefined) throw new BootFault(`--server ${wrong}`);
  const authority = flag("certificate-authority");
  const token = flag("token");
  return {
    ...read,
    url,
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
    ...(authority === "" ? {} : { authorities: readAuthority(authority) }),
  };
}

function readAuthority(path: string): string {
  return mending(`cannot read --certificate-authority ${path}`, () => readFileSync(path, "utf8"));
}

/** The figures of the server now. */
function ask(connection: Connection): Promise<ConsoleData> {
  const { url, authorization } = connection;
  const headers = { accept: "application/json", ...(authorization === undefined ? {} : { authorization }) };
  const signal = AbortSignal.timeout(answerMsMax);
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new BootFault(`${url}: ${why}`));
    const asked = request(`${url.replace(/\/$/, "")}/debug/console/data`, { ...tlsOf(connection), headers, signal });
    asked.on("error", (error: Error) => fail(signal.aborted ? "the server does not answer" : error.message));
    asked.on("response", (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on("error", (error: Error) => fail(error.message));
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > answerBytesMax) asked.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      answer.on("end", () => {
        if (answer.statusCode !== 200)
          return fail(`the server answers ${answer.statusCode}; top is for administrators`);
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString()) as ConsoleData);
        } catch {
          fail("the answer is no JSON: the server may be of another release");
        }
      });
    });
    asked.end();
  });
}
