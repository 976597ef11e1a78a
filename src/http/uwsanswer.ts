// What streamed answers of the uWS build have in common: they outlive their requests, and end with the connection.
import type { AnswerStream } from "../request/exchange/transport.ts";
import type { Generation } from "./uwsapps.ts";
import type { HttpResponse } from "./uwsbuild.ts";

/** What a stream needs of its front. */
export interface Streaming {
  /** Answers close their connection. */
  readonly closing: boolean;
  readonly streams: Set<UwsAnswer>;
}

/** The parts of an exchange that its stream takes over. */
export interface AnswerPlan {
  /** Called when the peer closes. */
  readonly gone: (() => void)[];
  /** No request may follow on the connection. */
  readonly last: boolean;
  readonly verifiedIn: Generation | undefined;
}

/** A streamed answer, of whichever framing. There are thousands for hours, so they keep nothing of their requests. */
export abstract class UwsAnswer implements AnswerStream {
  aborted = false;
  /** By which app its client was verified; undefined: it showed no certificate. */
  readonly verifiedIn: Generation | undefined;
  protected readonly front: Streaming;
  protected readonly res: HttpResponse;
  /** No request may follow it. */
  protected readonly last: boolean;
  protected drained: (() => void) | undefined;
  /** Nothing further is written. */
  protected ended = false;
  #gone: (() => void)[];

  constructor(front: Streaming, res: HttpResponse, { gone, last, verifiedIn }: AnswerPlan) {
    this.front = front;
    this.res = res;
    this.#gone = gone;
    this.last = last;
    this.verifiedIn = verifiedIn;
    front.streams.add(this);
    // In place of the exchange's.
    res.onAborted(() => this.#abort());
  }

  abstract write(chunk: Uint8Array): boolean;
  abstract end(): void;

  onDrain(drained: () => void): void {
    this.drained = drained;
  }

  onAbort(gone: () => void): void {
    this.#gone.push(gone);
  }

  abort(): void {
    if (this.ended) return;
    this.forget();
    this.res.close();
  }

  /** Ends the connection, and notifies the writer of the stream. */
  cut(): void {
    this.res.close();
  }

  /** Says that the rest goes by itself: its end is no news for its writer. */
  protected leave(): void {
    this.ended = true;
    this.#gone = [];
  }

  /** Nothing is written from here on. */
  protected forget(): void {
    this.leave();
    this.front.streams.delete(this);
  }

  /** The connection has closed, by either side. */
  #abort(): void {
    // None when it was ended or cut by this side.
    const gone = this.#gone;
    this.aborted = true;
    this.forget();
    for (const tell of gone) tell();
  }
}
