// Failpoints: named steps at which a crash test kills the process. ORCH_FAILPOINT=<name>:<n> kills it with SIGKILL
// at the n-th passage of the step; without the variable a step costs one comparison.

/** The failpoint named by ORCH_FAILPOINT; undefined: none. */
function parse(text: string | undefined): { name: string; left: number } | undefined {
  if (text === undefined || text === "") return undefined;
  const colon = text.lastIndexOf(":");
  const left = Number(text.slice(colon + 1));
  if (colon < 1 || !Number.isSafeInteger(left) || left < 1)
    throw new Error(`ORCH_FAILPOINT is not <name>:<n>: ${text}`);
  return { name: text.slice(0, colon), left };
}

const armed = parse(process.env["ORCH_FAILPOINT"]);

/** Marks a step. Does not return when the environment asks for a crash here. */
export function failpoint(name: string): void {
  if (armed === undefined) return;
  if (armed.name !== name) return;
  armed.left--;
  if (armed.left > 0) return;
  process.kill(process.pid, "SIGKILL");
  // The signal may reach another thread first: this one must not take a single step more.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
}
