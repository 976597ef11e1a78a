// Brings a browser for the tests of pages where there is none: the distribution's chromium, which only root can install.
// Where it cannot be had, those tests say what they leave out.
import { spawnSync } from "node:child_process";

/** Installs a browser unless one is found (test/support/programs/browser.ts). What the tests call is built by now. */
export async function bringBrowser() {
  const { findBrowser } = await import("../dist/test/support/programs/browser.js");
  if (findBrowser() !== undefined) return;
  if (process.getuid?.() === 0 && (install() || (apt("update") && install())) && findBrowser() !== undefined) {
    console.log("Installed chromium, the distribution's package");
    return;
  }
  console.log("No chromium here, and the distribution's package could not be installed: tests of pages are left out");
}

/** The lists of packages may be missing, as in images of containers. */
function install() {
  return apt("install", "--yes", "--no-install-recommends", "chromium");
}

function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync("apt-get", args, { env, stdio: "ignore", timeout: 300_000 }).status === 0;
}
