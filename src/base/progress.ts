// How far a long command is, for the person who waits for it: one line that is written over on a terminal, else a line
// now and then.

/** Where lines go. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const barWidth = 30;
/** Time between two lines, in milliseconds: on a terminal, and elsewhere. */
const pauseMs = { terminal: 100, file: 5000 };

/** The progress of one command. */
export class Progress {
  readonly #screen: Screen;
  readonly #now: () => number;
  #nextMs: number;
  #isOpen = false;

  /** `now`: milliseconds of a clock that only goes forward. */
  constructor(screen: Screen, now: () => number) {
    this.#screen = screen;
    this.#now = now;
    this.#nextMs = now() + this.#pauseMs;
  }

  get #pauseMs(): number {
    return this.#screen.isTTY === true ? pauseMs.terminal : pauseMs.file;
  }

  /** `done` of `total` (absent: not known) are done. */
  tell(what: string, done: number, total?: number): void {
    const now = this.#now();
    if (now < this.#nextMs) return;
    this.#nextMs = now + this.#pauseMs;
    const line = `${barOf(done, total)}${done}${total === undefined ? "" : ` of ${total}`} ${what}`;
    this.#screen.write(this.#screen.isTTY === true ? `\r\x1b[K${line}` : `${line}\n`);
    this.#isOpen = this.#screen.isTTY === true;
  }

  /** Leaves the line. */
  end(): void {
    if (this.#isOpen) this.#screen.write("\r\x1b[K");
    this.#isOpen = false;
  }
}

function barOf(done: number, total: number | undefined): string {
  if (total === undefined || total === 0) return "";
  const full = Math.min(barWidth, Math.floor((barWidth * done) / total));
  return `[${"#".repeat(full)}${".".repeat(barWidth - full)}] `;
}
