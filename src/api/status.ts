// Every refusal is a Status: a value, built from one table of reasons. Shapes and texts follow upstream
// (meta/v1 Status and its error constructors); a stage returns `T | Status` and nothing is thrown for a client's mistake.

/** Why a request was refused. The wire's `reason`. */
export type Reason =
  | ""
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Expired"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "Invalid"
  | "TooManyRequests"
  | "InternalError"
  | "ServiceUnavailable"
  | "Timeout"
  | "ServerTimeout";

/** HTTP code of each reason; "" stands for errors without one, which carry their own code. */
const codes: Readonly<Record<Exclude<Reason, "">, number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  ServerTimeout: 500,
};

/** One cause in `details.causes`. */
export interface Cause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** `details` of a Status. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
  /** Continue token of an expired list; written to the Status's own metadata. */
  readonly continueToken?: string;
}

/** The answer to a request that did not succeed (or to a delete that did). */
export class Status {
  readonly success: boolean;
  /** HTTP status code. */
  readonly code: number;
  readonly reason: Reason;
  /** For the client. */
  readonly message: string;
  readonly details: StatusDetails | undefined;
  /** For the log only; never sent. */
  readonly internal: unknown;

  constructor(code: number, reason: Reason, message: string, details?: StatusDetails, internal?: unknown) {
    this.success = code < 400;
    this.code = code;
    this.reason = reason;
    this.message = message;
    this.details = details;
    this.internal = internal;
  }
}

/** Names the resource a Status is about: `pods`, `deployments.apps`. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** `deployments.apps`, or `pods` for the core group: as the messages of upstream spell a group and resource or kind. */
export function qualified(group: string, name: string): string {
  return group === "" ? name : `${name}.${group}`;
}

/** A Status of `reason` with the code of the table. */
export function refuse(reason: Exclude<Reason, "">, message: string, details?: StatusDetails): Status {
  return new Status(codes[reason], reason, message, details);
}

/** 504 for a request past its deadline, with upstream's message. */
export const timedOut = refuse("Timeout", "Timeout: request did not complete within the allotted timeout", {});

/** 400 BadRequest. */
export function badRequest(message: string): Status {
  return refuse("BadRequest", message);
}

/** 404 for one object: `pods "x" not found`. */
export function notFound(at: GroupResource, name: string): Status {
  return refuse("NotFound", `${qualified(at.group, at.resource)} "${name}" not found`, details(at, name));
}

/** 409 for a create of an existing name. */
export function alreadyExists(at: GroupResource, name: string): Status {
  return refuse("AlreadyExists", `${qualified(at.group, at.resource)} "${name}" already exists`, details(at, name));
}

/** 409 for a failed precondition; `why` ends the sentence of upstream. */
export function conflict(at: GroupResource, name: string, why: string): Status {
  const message = `Operation cannot be fulfilled on ${qualified(at.group, at.resource)} "${name}": ${why}`;
  return refuse("Conflict", message, details(at, name));
}

/** The sentence of a lost optimistic-concurrency race. */
export const conflictModified =
  "the object has been modified; please apply your changes to the latest version and try again";

/** 403 with upstream's sentence; `why` follows the colon. */
export function forbidden(at: GroupResource, name: string, why: string): Status {
  const what = name === "" ? "" : ` "${name}"`;
  return refuse("Forbidden", `${qualified(at.group, at.resource)}${what} is forbidden: ${why}`, details(at, name));
}

/** 500 for an internal error: `internal` goes to the log, the client reads only its class. */
export function internalError(internal: unknown): Status {
  return new Status(500, "InternalError", "Internal error occurred: see the server's log", undefined, internal);
}

function details(at: GroupResource, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(at.group === "" ? {} : { group: at.group }),
    kind: at.resource,
  };
}

/** Tells a refusal from a result. */
export function isStatus(value: unknown): value is Status {
  return value instanceof Status;
}
