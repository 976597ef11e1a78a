// The wire form of a Status (meta/v1 Status), keys in upstream's order.
import type { Status } from "./status.ts";

/** Compact JSON of a Status, without a newline. */
export function statusJson(status: Status): string {
  return JSON.stringify(statusObject(status)).replace(/[<>&\u2028\u2029]/g, escapeAsGo);
}

/** Go's encoder keeps HTML and JavaScript safe in strings. */
function escapeAsGo(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function statusObject(status: Status): object {
  const { details } = status;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: details?.continueToken === undefined ? {} : { continue: details.continueToken },
    status: status.success ? "Success" : "Failure",
    ...(status.message === "" ? {} : { message: status.message }),
    ...(status.reason === "" ? {} : { reason: status.reason }),
    ...(details === undefined || details.continueToken !== undefined
      ? {}
      : {
          details: {
            ...(details.name === undefined ? {} : { name: details.name }),
            ...(details.group === undefined ? {} : { group: details.group }),
            ...(details.kind === undefined ? {} : { kind: details.kind }),
            ...(details.uid === undefined ? {} : { uid: details.uid }),
            ...(details.causes === undefined ? {} : { causes: details.causes }),
            ...(details.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: details.retryAfterSeconds }),
          },
        }),
    ...(status.success && status.code === 200 ? {} : { code: status.code }),
  };
}
