// What a server answers to a call of gRPC: messages, cut out of the bytes of its stream, and how it ended.
// @hot
import type { StreamEvents, StreamFault } from "./connection.ts";
import type { Field } from "./fields.ts";

/** Codes of gRPC that are told apart here. */
export const grpcCodes = {
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** A call that failed; the message is the server's, or says what happened to the connection. */
export class GrpcError extends Error {
  override name = "GrpcError";
  readonly code: number;
  /** The server has certainly not begun with it. */
  readonly isUntouched: boolean;
  constructor(code: number, message: string, isUntouched = false) {
    super(message);
    this.code = code;
    this.isUntouched = isUntouched;
  }
}

/** Bytes before a message: whether it is compressed, and its length. */
const messageHeadBytes = 5;
/** Bytes of a message, at most: as upstream's client of etcd takes. */
const messageBytesMax = 2 ** 31 - 1;

/** The server's side of a call: messages, and how it ended. */
export class Answer implements StreamEvents {
  readonly #data: (bytes: Buffer) => void;
  readonly #settle: (error: GrpcError | undefined) => void;
  #hasHead = false;
  /** What comes is the body of an answer of gRPC, and not an error page. */
  #isAccepted = false;
  #error: GrpcError | undefined = new GrpcError(grpcCodes.internal, "the call ended without a status");

  constructor(data: (bytes: Buffer) => void, settle: (error: GrpcError | undefined) => void) {
    this.#data = data;
    this.#settle = settle;
  }

  fields(fields: readonly Field[]): void {
    const httpStatus = fieldOf(fields, ":status");
    // An interim answer: the head is still to come.
    if (httpStatus?.startsWith("1") === true) return;
    const status = fieldOf(fields, "grpc-status");
    if (status !== undefined) this.#error = errorOf(status, fieldOf(fields, "grpc-message") ?? "");
    else if (!this.#hasHead) this.#error = httpErrorOf(httpStatus) ?? this.#error;
    if (!this.#hasHead) this.#isAccepted = httpStatus === "200";
    this.#hasHead = true;
  }

  data(bytes: Buffer): void {
    if (this.#isAccepted) this.#data(bytes);
  }

  ended(): void {
    this.#settle(this.#error);
  }

  failed({ message, isUntouched }: StreamFault): void {
    this.#settle(unavailable(message, isUntouched));
  }
}

/** Cuts messages out of the bytes that come. */
export class MessageParts {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** Bytes that are not cut yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds bytes; returns what is wrong with the message that comes next. */
  add(bytes: Buffer): GrpcError | undefined {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    return this.fault();
  }

  /** What is wrong with the message that comes next, as far as is known. */
  fault(): GrpcError | undefined {
    const head = this.#head();
    if (head === undefined) return undefined;
    // No encoding was offered.
    if (head[0] !== 0) return new GrpcError(grpcCodes.internal, "a compressed message");
    const length = head.readUInt32BE(1);
    if (length <= messageBytesMax) return undefined;
    return new GrpcError(grpcCodes.internal, `a message of ${length} bytes`);
  }

  /** The next message, when all of it is there. */
  next(): Buffer | undefined {
    const first = this.#head();
    if (first === undefined) return undefined;
    const end = messageHeadBytes + first.readUInt32BE(1);
    if (this.#bytes < end) return undefined;
    const whole = this.#parts.length === 1 ? first : Buffer.concat(this.#parts);
    this.#parts = whole.length === end ? [] : [whole.subarray(end)];
    this.#bytes -= end;
    return whole.subarray(messageHeadBytes, end);
  }

  /** What is wrong where only one message may come: more comes. */
  excess(): GrpcError | undefined {
    const head = this.#head();
    if (head === undefined || this.#bytes <= messageHeadBytes + head.readUInt32BE(1)) return undefined;
    return new GrpcError(grpcCodes.internal, "an answer of more than a message");
  }

  /** The message, where only one may come. */
  only(): Buffer | GrpcError {
    return this.next() ?? new GrpcError(grpcCodes.internal, "an answer without a whole message");
  }

  /** Bytes that begin with the head of the next message. */
  #head(): Buffer | undefined {
    if (this.#bytes < messageHeadBytes) return undefined;
    if ((this.#parts[0] as Buffer).length < messageHeadBytes) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0] as Buffer;
  }
}

/** What precedes a message; nothing is compressed. */
export function headOf({ length }: Uint8Array): Buffer {
  const made = Buffer.alloc(messageHeadBytes);
  made.writeUInt32BE(length, 1);
  return made;
}

/** A message with its head. */
export function framed(message: Uint8Array): Buffer {
  return Buffer.concat([headOf(message), message]);
}

function fieldOf(fields: readonly Field[], name: string): string | undefined {
  for (const [each, value] of fields) if (each === name) return value;
  return undefined;
}

function errorOf(status: string, message: string): GrpcError | undefined {
  if (status === "0") return undefined;
  const code = /^\d{1,2}$/.test(status) ? Number(status) : grpcCodes.unknown;
  return new GrpcError(code, unescaped(message));
}

/** A message is UTF-8 with percent escapes. */
function unescaped(message: string): string {
  const bytes = message.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** What an answer means that is not one of gRPC: https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md */
function httpErrorOf(status: string | undefined): GrpcError | undefined {
  if (status === "200") return undefined;
  const codes = new Map<string | undefined, number>([
    ["400", grpcCodes.internal],
    ["401", grpcCodes.unauthenticated],
    ["403", grpcCodes.permissionDenied],
    ["404", grpcCodes.unimplemented],
    ["429", grpcCodes.unavailable],
    ["502", grpcCodes.unavailable],
    ["503", grpcCodes.unavailable],
    ["504", grpcCodes.unavailable],
  ]);
  return new GrpcError(codes.get(status) ?? grpcCodes.unknown, `the answer has the code ${status} of HTTP`);
}

/** The server did not answer. `isUntouched`: see GrpcError. */
export function unavailable(message: string, isUntouched: boolean): GrpcError {
  return new GrpcError(grpcCodes.unavailable, message, isUntouched);
}
