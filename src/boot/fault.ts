// How a start that cannot be ends: one clear line on standard error, exit code 1.

/** Something the operator has to mend: a flag, a file, a port. The message is one line, for people. */
export class BootFault extends Error {
  override name = "BootFault";
}

/** The file-system errors an operator meets, in words. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "no such file or directory"],
  ["EACCES", "permission denied"],
  ["EPERM", "not permitted"],
  ["EISDIR", "it is a directory"],
  ["ENOTDIR", "it is not a directory"],
  ["ENOSPC", "no space left on the device"],
  ["EROFS", "the file system is read-only"],
  ["EADDRINUSE", "the address is in use"],
  ["EADDRNOTAVAIL", "this machine does not have that address"],
]);

/** Why a call of the system failed, in one line. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return reasons.get(code ?? "") ?? (message ?? String(error)).split("\n", 1)[0] ?? "";
}

/** Runs `action`; what it throws becomes a BootFault that starts with `what`. */
export function mending<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof BootFault) throw error;
    throw new BootFault(`${what}: ${reasonOf(error)}`, { cause: error });
  }
}

/** The last line of a process that cannot go on. */
export function die(message: string, code = 1): never {
  process.stderr.write(`orch: ${message}\n`);
  exitNow(code);
}

/** Ends the process as it stands: an open listener of the uWS build would turn an orderly exit into an abort. */
export function exitNow(code: number): never {
  const { reallyExit } = process as unknown as { reallyExit: (code: number) => never };
  return reallyExit(code);
}
