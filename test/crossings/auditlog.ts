// Follows an audit log through its rotations and says of every event who it is about.
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

const readBytes = 1 << 20;

/** Reads what was appended since it was asked before. */
export class AuditLog {
  readonly #path: string;
  readonly #take: (id: string, asker: string, acted: string) => void;
  #fd = -1;
  #rest = "";

  constructor(path: string, take: (id: string, asker: string, acted: string) => void) {
    this.#path = path;
    this.#take = take;
  }

  /** Reads to the end, on into the file that took the place of a full one. */
  read(): void {
    if (this.#fd < 0) this.#fd = openSync(this.#path, "r");
    for (;;) {
      const current = statSync(this.#path, { throwIfNoEntry: false });
      // Looked at first: what a full file got before it was put aside is read below.
      const full = current !== undefined && current.ino !== fstatSync(this.#fd).ino;
      this.#drain();
      if (!full) return;
      closeSync(this.#fd);
      this.#fd = openSync(this.#path, "r");
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
  }

  #drain(): void {
    const bytes = Buffer.allocUnsafe(readBytes);
    for (let count = readSync(this.#fd, bytes); count > 0; count = readSync(this.#fd, bytes)) {
      const lines = (this.#rest + bytes.toString("latin1", 0, count)).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.#line(line);
    }
  }

  #line(line: string): void {
    const { auditID, user, impersonatedUser } = JSON.parse(line);
    this.#take(auditID, user.username ?? "", impersonatedUser?.username ?? "");
  }
}
