// The connections of a node front with requests: the running work of each, and a timeout for those on which
// nothing moves. Node's own way is a timer that is restarted twice for every request, a twelfth of its cost;
// here all are looked at now and then. Never slower than its limit by more than an eighth of it.
import type { Socket } from "node:net";

/** A request under way. */
export interface UnderWay {
  /** It was answered whole, and the answer is on its way. */
  readonly sending: boolean;
  /** The connection ended, or the answer was sent in full. */
  closed(): void;
}

/** The state of a connection. */
interface Line {
  /** In the order they were asked in, which is the order of the answers. */
  readonly under: Set<UnderWay>;
  /** Bytes that had been read and written at the last look. */
  moved: number;
  /** Looks since then. */
  still: number;
}

/** Looks that make the shorter limit. */
const looks = 8;

/** The connections of one front. */
export class Connections {
  readonly #lines = new Map<Socket, Line>();
  readonly #timer: NodeJS.Timeout;
  readonly #first: (socket: Socket) => void;
  readonly #stillMax: { readonly idle: number; readonly stalled: number };

  /**
   * `first` is called for each connection's first request. Ends connections without a request after `idleMsMax`, and
   * those whose peer takes nothing of an answer after `stallMsMax`.
   */
  constructor(idleMsMax: number, stallMsMax: number, first: (socket: Socket) => void = () => undefined) {
    this.#first = first;
    const everyMs = Math.min(idleMsMax, stallMsMax) / looks;
    this.#stillMax = { idle: Math.ceil(idleMsMax / everyMs), stalled: Math.ceil(stallMsMax / everyMs) };
    this.#timer = setInterval(() => this.#look(), everyMs);
    this.#timer.unref();
  }

  /** The running work of a connection; the caller that adds to it removes it again. */
  under(socket: Socket): Set<UnderWay> {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known.under;
    const line: Line = { under: new Set(), moved: 0, still: 0 };
    this.#lines.set(socket, line);
    this.#first(socket);
    // Responses that had not begun are not notified otherwise.
    socket.once("close", () => {
      this.#lines.delete(socket);
      for (const one of line.under) one.closed();
    });
    return line.under;
  }

  /** Looks no more. */
  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [socket, line] of this.#lines) {
      const [first] = line.under;
      const moved = socket.bytesRead + socket.bytesWritten - socket.writableLength;
      // A handler and a stream take the time they take.
      const waits = first !== undefined && !first.sending;
      line.still = waits || moved !== line.moved ? 0 : line.still + 1;
      line.moved = moved;
      const { idle, stalled } = this.#stillMax;
      if (line.still >= (first === undefined ? idle : stalled)) socket.destroy();
    }
  }
}
