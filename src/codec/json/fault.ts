// A fault of bytes or a document: a value, never thrown.

/** Invalid input; the message is upstream's, without the "… cannot be handled as …" frame. */
export class Fault {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** Input of more values than are read: it is refused while it is read, before they take memory. */
export class TooManyValues extends Fault {
  constructor(valuesMax: number) {
    super(`Request entity too large: limit is ${valuesMax} values (objects, lists, their items and fields)`);
  }
}

/** Tells a fault from a result. */
export function isFault(value: unknown): value is Fault {
  return value instanceof Fault;
}
