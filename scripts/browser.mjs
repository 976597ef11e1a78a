// Brings a browser for the tests of pages where there is none: the distribution's chromium, which only root can install.
// Where it cannot be had, those tests say what they leave out.
import { apt, isRoot } from "./apt.mjs";

const install = ["install", "--yes", "--no-install-recommends", "chromium"];

/** Installs a browser unless one is found (test/support/programs/browser.ts). What the tests call is built by now. */
export async function bringBrowser() {
  const { findBrowser } = await import("../dist/test/support/programs/browser.js");
  if (findBrowser() !== undefined) return;
  if (isRoot && apt(install) && findBrowser() !== undefined) {
    console.log("Installed chromium, the distribution's package");
    return;
  }
  console.log("No chromium here, and the distribution's package could not be installed: tests of pages are left out");
}
