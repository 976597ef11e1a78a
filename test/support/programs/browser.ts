// A headless browser, where the machine has one: the document of a page, and by its debugging protocol what is evaluated
// in it, and pictures.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Node's own client, which the types of Node 20 do not have. */
interface Socket {
  addEventListener(type: string, listener: (event: { readonly data: string }) => void): void;
  send(text: string): void;
  close(): void;
}
const { WebSocket } = globalThis as unknown as { readonly WebSocket: new (url: string) => Socket };

/** Where distributions put it; CHROMIUM names another. */
const places = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The path of a browser; undefined: there is none. */
export const findBrowser = (): string | undefined => places.find((path) => path !== "" && existsSync(path));

/** Why a test of a page is left out; false: it is not. */
export const noBrowser = findBrowser() === undefined && "no chromium is installed";

/** It looks up nothing by itself, and needs no display. */
const quiet = [
  ...["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

const makeProfile = (): string => mkdtempSync(join(tmpdir(), "orch-browser-"));

function removeProfile(profile: string): void {
  rmSync(profile, { recursive: true, force: true, maxRetries: 20 });
}

/** The document at a URL once its script has run, as HTML. */
export function documentAt(url: string): string {
  const profile = makeProfile();
  const args = [...quiet, `--user-data-dir=${profile}`, "--virtual-time-budget=5000", "--dump-dom", url];
  try {
    return spawnSync(findBrowser() ?? "chromium", args, { timeout: 120_000 }).stdout.toString();
  } finally {
    removeProfile(profile);
  }
}

/** A page that is open. */
export interface OpenPage {
  /** The value of an expression, or of the promise it makes. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any page
  evaluate(expression: string): Promise<any>;
  /** Lines of its console, errors of its policy among them. */
  readonly said: readonly string[];
  /** A picture as PNG. */
  picture(width: number, scheme: "light" | "dark"): Promise<Buffer>;
  close(): Promise<void>;
}

/** Opens a page in a browser of its own. */
export async function openPage(url: string, width = 1400): Promise<OpenPage> {
  const profile = makeProfile();
  const flags = ["--hide-scrollbars", "--remote-debugging-port=0", `--window-size=${width},1000`];
  const args = [...quiet, ...flags, `--user-data-dir=${profile}`, "about:blank"];
  const browser = spawn(findBrowser() ?? "chromium", args, { stdio: ["ignore", "ignore", "pipe"] });
  const port = await portOf(browser);
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    readonly type: string;
    readonly webSocketDebuggerUrl: string;
  }[];
  const target = targets.find(({ type }) => type === "page");
  if (target === undefined) throw new Error("The browser has no page");
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  const said: string[] = [];
  const send = conversation(socket, said);
  await Promise.all(["Page.enable", "Runtime.enable", "Log.enable"].map((method) => send(method)));
  await send("Page.navigate", { url });
  return {
    said,
    evaluate: async (expression) => {
      const { result } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      return (result as { readonly value?: unknown }).value;
    },
    picture: async (asked, scheme) => {
      const features = [{ name: "prefers-color-scheme", value: scheme }];
      await send("Emulation.setEmulatedMedia", { features });
      const metrics = { width: asked, height: 1000, deviceScaleFactor: 1, mobile: false };
      await send("Emulation.setDeviceMetricsOverride", metrics);
      const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: true });
      return Buffer.from(String(data), "base64");
    },
    close: async () => {
      const ended = new Promise((resolve) => browser.once("exit", resolve));
      // By itself it ends its own processes first, which write to the profile.
      void send("Browser.close");
      const kill = setTimeout(() => browser.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(kill);
      socket.close();
      removeProfile(profile);
    },
  };
}

function portOf(browser: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    browser.once("error", reject);
    browser.once("exit", () => reject(new Error("The browser ended")));
    if (browser.stderr === null) return;
    createInterface(browser.stderr).on("line", (line) => {
      const port = /^DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1];
      if (port !== undefined) resolve(port);
    });
  });
}

type Send = (method: string, params?: object) => Promise<Record<string, unknown>>;

/** Asks the browser, and listens to what the page says. */
function conversation(socket: Socket, said: string[]): Send {
  const waiting = new Map<number, (result: Record<string, unknown>) => void>();
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data) as {
      readonly id?: number;
      readonly method?: string;
      readonly params?: unknown;
      readonly result?: Record<string, unknown>;
    };
    if (message.id !== undefined) waiting.get(message.id)?.(message.result ?? {});
    else if (/exceptionThrown|entryAdded/.test(message.method ?? "")) said.push(JSON.stringify(message.params));
  });
  return (method, params = {}) =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
}
