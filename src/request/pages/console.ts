// `/debug/console`: the page for administrators, one file without anything from elsewhere. Its script and style are inlined
// when the bundle is made (scripts/bundle.mjs); the policy it is sent with allows these two texts, and asking this server.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Reply, sendNotFoundPage, sendText } from "../answer/response.ts";

/** Beside the bundle's folders; compiled code alone has none. */
const file = new URL("../../../console.html", import.meta.url);

/** The page, and the policy it is sent with. */
interface ConsolePage {
  readonly html: string;
  readonly policy: string;
}

let page: Promise<ConsolePage> | undefined;

/** Sends the page; 404 where it was not built. */
export async function sendConsole(reply: Reply): Promise<void> {
  page ??= readFile(file, "utf8").then((html) => ({ html, policy: policyOf(html) }));
  try {
    const { html, policy } = await page;
    if (reply.exchange.aborted) return;
    sendText(reply, 200, html, "text/html; charset=utf-8", [
      ["Content-Security-Policy", policy],
      ["Referrer-Policy", "no-referrer"],
    ]);
  } catch {
    page = undefined;
    if (!reply.exchange.aborted) sendNotFoundPage(reply);
  }
}

/** Only the page's own script and style run, by their hashes, and it connects to its own server alone. */
export function policyOf(html: string): string {
  const hashes = (element: RegExp): string =>
    [...html.matchAll(element)]
      .map(([, text = ""]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`)
      .join(" ");
  return [
    "default-src 'none'",
    `script-src ${hashes(/<script>([\s\S]*?)<\/script>/g)}`,
    `style-src ${hashes(/<style>([\s\S]*?)<\/style>/g)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
