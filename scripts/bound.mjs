// Programs that end with the process that starts them, however that ends. What tests start has the same in
// test/support/servers/bound.ts: these scripts run before anything is built.
import { spawn, spawnSync } from "node:child_process";

/** Where the kernel can (Linux, by setpriv of util-linux), it tells what was started that its parent has ended. */
const canBind = spawnSync("setpriv", ["--pdeathsig", "KILL", "true"]).status === 0;

/** Starts a program; `signal`, without SIG, is what it gets when this process has ended. */
export function spawnBound(signal, program, args, options) {
  if (!canBind) return spawn(program, args, options);
  return spawn("setpriv", ["--pdeathsig", signal, program, ...args], options);
}
