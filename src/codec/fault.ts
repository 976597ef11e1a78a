// Why bytes or a document are not what they should be: a value, never thrown.

/** Input that is not what it should be; the message is the reference's, without the "… cannot be handled as …" frame. */
export class Fault {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** Tells a fault from a result. */
export function isFault(value: unknown): value is Fault {
  return value instanceof Fault;
}
