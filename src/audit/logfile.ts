// The log backend: lines appended to a file that is rotated when it is full. Names of rotated files, the kept ones
// of them and their compression are those of upstream's (lumberjack): `audit-2026-01-02T03-04-05.678.log[.gz]`.
// Only the thread that writes events opens it, and it writes
// synchronously: a line that is acknowledged is with the system. A pipe with a slow reader is written piece by piece.
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "../base/clock.ts";
import type { AuditLogConfig } from "../config/auditflags.ts";
import { type Destination, eventsOf, linesOf } from "./destination.ts";
import { legacyLine } from "./legacy.ts";

const dayMs = 86_400_000;
const newFileMode = 0o600;
const newline = 0x0a;
/** How often a pipe with a slow reader is retried, in milliseconds. */
const stallLookMs = 5;

/** Options of a log file. */
export type LogFileConfig = Pick<
  AuditLogConfig,
  "path" | "format" | "fileBytesMax" | "backupsMax" | "backupDaysMax" | "compress"
>;

/** Appends events to a file, or to standard output. Opening throws the system's error. */
export class LogFile implements Destination {
  readonly name = "log";
  readonly #config: LogFileConfig;
  readonly #clock: Clock;
  #fd: number;
  /** Bytes in the file; only files have an end. */
  #size = 0;
  readonly #isFile: boolean;
  #tidying: Promise<void> | undefined;
  /** Set while earlier bytes are not taken yet. */
  #late: Promise<void> | undefined;
  #hurries = false;

  constructor(config: LogFileConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#fd = openPath(config.path);
    const stat = fstatSync(this.#fd);
    // Standard output belongs to another program.
    this.#isFile = config.path !== "-" && stat.isFile();
    this.#size = stat.size;
    this.#tidy();
  }

  write(lines: string): string | undefined | Promise<string | undefined> {
    const text = this.#config.format === "json" ? lines : linesOf(eventsOf(lines).map(legacyLine));
    const bytes = Buffer.from(text);
    if (!this.#isFile) return this.#push(bytes);
    if (this.#size + bytes.length <= this.#config.fileBytesMax) return this.#append(bytes);
    // Lines of one batch are written together, but no file exceeds its bound for it and no line is cut.
    for (let start = 0; start < bytes.length; ) {
      let end = bytes.indexOf(newline, start) + 1;
      for (let next = end; next > 0; next = bytes.indexOf(newline, end) + 1) {
        if (this.#size + next - start > this.#config.fileBytesMax) break;
        end = next;
      }
      const isFull = this.#size > 0 && this.#size + end - start > this.#config.fileBytesMax;
      if (isFull && this.#rotate()) continue;
      const fault = this.#append(bytes.subarray(start, end));
      if (fault !== undefined) return fault;
      start = end;
    }
    return undefined;
  }

  hurry(): void {
    this.#hurries = true;
  }

  close(): void {
    if (this.#fd !== 1) closeSync(this.#fd);
  }

  /** Resolves when rotated files are compressed and those too old are removed. */
  async tidied(): Promise<void> {
    await this.#tidying;
  }

  #append(bytes: Uint8Array): string | undefined {
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written);
    } catch (error) {
      this.#takeBack(written);
      return (error as Error).message;
    }
    this.#size += written;
    return undefined;
  }

  /** Writes to a pipe: at once, or when its reader has read the bytes before. */
  #push(bytes: Uint8Array): string | undefined | Promise<string | undefined> {
    const rest = this.#late === undefined ? this.#offer(bytes) : bytes;
    if (typeof rest === "string") return rest;
    if (rest.length === 0) return undefined;
    const done = (this.#late ?? Promise.resolve()).then(() => this.#pushSlowly(rest));
    const late = done.then(() => {
      if (this.#late === late) this.#late = undefined;
    });
    this.#late = late;
    return done;
  }

  async #pushSlowly(bytes: Uint8Array): Promise<string | undefined> {
    for (;;) {
      const rest = this.#offer(bytes);
      if (typeof rest === "string") return rest;
      if (rest.length === 0) return undefined;
      if (this.#hurries) return "the reader of the pipe does not read";
      bytes = rest;
      await new Promise((resolve) => setTimeout(resolve, stallLookMs));
    }
  }

  /** The bytes not taken, or an error message when the pipe is broken. */
  #offer(bytes: Uint8Array): Uint8Array | string {
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "EAGAIN") return message;
    }
    return bytes.subarray(written);
  }

  /** Ends a partial line, so that it does not join the next one. */
  #takeBack(written: number): void {
    if (written === 0 || !this.#isFile) return;
    try {
      ftruncateSync(this.#fd, this.#size);
    } catch {
      this.#size += written;
    }
  }

  /** Rotates the file. False: that failed, and the file is used on; no event is lost. */
  #rotate(): boolean {
    const { path } = this.#config;
    try {
      const { mode } = fstatSync(this.#fd);
      const aside = existsSync(path) ? this.#asideName() : undefined;
      if (aside !== undefined) renameSync(path, aside);
      let fd: number;
      try {
        fd = openSync(path, "a", mode & 0o777);
      } catch (error) {
        if (aside !== undefined) renameSync(aside, path);
        throw error;
      }
      closeSync(this.#fd);
      this.#fd = fd;
      this.#size = 0;
    } catch {
      return false;
    }
    this.#tidy();
    return true;
  }

  #asideName(): string {
    const { path } = this.#config;
    const extension = extname(path);
    const stem = path.slice(0, path.length - extension.length);
    const taken = new Set(readdirSync(dirname(path)));
    for (let ms = this.#clock.now(); ; ms += 1) {
      const name = `${stem}-${stampOf(ms)}${extension}`;
      // Two in one millisecond must not become one.
      if (!taken.has(basename(name)) && !taken.has(`${basename(name)}.gz`)) return name;
    }
  }

  /** Removes files put aside that are too many or too old, then compresses the others; one at a time. */
  #tidy(): void {
    const { path, backupsMax, backupDaysMax, compress } = this.#config;
    if (!this.#isFile || (backupsMax === 0 && backupDaysMax === 0 && !compress)) return;
    const before = this.#tidying ?? Promise.resolve();
    this.#tidying = before.then(async () => {
      try {
        const oldest = backupDaysMax === 0 ? Number.NEGATIVE_INFINITY : this.#clock.now() - backupDaysMax * dayMs;
        const found = asideFiles(path);
        const kept = found.filter(({ ms }, index) => (backupsMax === 0 || index < backupsMax) && ms >= oldest);
        for (const file of found) if (!kept.includes(file)) rmSync(file.path, { force: true });
        for (const file of compress ? kept : []) if (!file.path.endsWith(".gz")) await pack(file.path);
      } catch {
        // The next rotation tries again; events do not depend on it.
      }
    });
  }
}

/** A file put aside. */
interface Aside {
  readonly path: string;
  readonly ms: number;
}

/** Newest first. */
function asideFiles(path: string): Aside[] {
  const directory = dirname(path);
  const extension = extname(path);
  const start = `${basename(path).slice(0, basename(path).length - extension.length)}-`;
  const found: Aside[] = [];
  for (const name of readdirSync(directory)) {
    const plain = name.endsWith(".gz") ? name.slice(0, -3) : name;
    if (!plain.startsWith(start) || !plain.endsWith(extension)) continue;
    const ms = timeOf(plain.slice(start.length, plain.length - extension.length));
    if (ms !== undefined) found.push({ path: join(directory, name), ms });
  }
  return found.sort((a, b) => b.ms - a.ms);
}

async function pack(path: string): Promise<void> {
  const partial = `${path}.gz`;
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(partial, { mode: newFileMode }));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
  rmSync(path, { force: true });
}

/** `2026-01-02T03-04-05.678`, UTC. */
function stampOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, -1).replaceAll(":", "-");
}

function timeOf(stamp: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/.test(stamp)) return undefined;
  const ms = Date.parse(`${stamp.slice(0, 11)}${stamp.slice(11).replaceAll("-", ":")}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Opens it so that no write ever waits in the system: this thread has to hear when it shall end. Throws. */
function openPath(path: string): number {
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
  if (path !== "-") {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, newFileMode);
  }
  const own = "/proc/self/fd/1";
  return fstatSync(1).isFIFO() && existsSync(own) ? openSync(own, O_WRONLY | O_NONBLOCK) : 1;
}
