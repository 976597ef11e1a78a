// Probes and lifecycle hooks: exactly one handler each, and sensible numbers.
import { forbiddenField, invalid, notSupported, required } from "../../../../api/fielderror.ts";
import type { HTTPGetAction, Lifecycle, Probe, ProbeHandler } from "../../../../api/gen/core/v1.ts";
import { isHttpHeaderName } from "../../../formats.ts";
import { checkNonNegative, checkPort, type Errors, empty, faults, isFull } from "../../../validation/check.ts";

const numbers = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

/** Rules of a probe. */
export function checkProbe(out: Errors, path: string, probe: Probe | undefined): void {
  if (probe === undefined) return;
  checkHandler(out, path, probe);
  for (const field of numbers) {
    const value = probe[field];
    if (value !== undefined && value < 0) checkNonNegative(out, `${path}.${field}`, value);
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) {
    out.push(invalid(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than 0"));
  }
}

/** Probes that decide over restarts succeed with one success. */
export function checkSingleSuccess(out: Errors, path: string, probe: Probe | undefined): void {
  if (probe === undefined || probe.successThreshold === 1) return;
  out.push(invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, "must be 1"));
}

/** Rules of the hooks of a container. */
export function checkLifecycle(out: Errors, path: string, lifecycle: Lifecycle | undefined): void {
  if (lifecycle === undefined) return;
  if (lifecycle.postStart !== undefined) checkHandler(out, `${path}.postStart`, lifecycle.postStart);
  if (lifecycle.preStop !== undefined) checkHandler(out, `${path}.preStop`, lifecycle.preStop);
}

/** Only the first handler is looked into; each further one is refused. */
function checkHandler(out: Errors, path: string, handler: ProbeHandler): void {
  let count = 0;
  const take = (field: "exec" | "httpGet" | "tcpSocket" | "grpc", check: (at: string) => void): void => {
    if (handler[field] === undefined) return;
    count += 1;
    if (count > 1) out.push(forbiddenField(`${path}.${field}`, "may not specify more than 1 handler type"));
    else check(`${path}.${field}`);
  };
  const { exec, httpGet, tcpSocket, grpc } = handler;
  take("exec", (at) => {
    if ((exec?.command?.length ?? 0) === 0) out.push(required(`${at}.command`));
  });
  take("httpGet", (at) => {
    if (httpGet !== undefined) checkHttpGet(out, at, httpGet);
  });
  take("tcpSocket", (at) => {
    if (tcpSocket !== undefined) checkPort(out, `${at}.port`, tcpSocket.port);
  });
  take("grpc", (at) => {
    if (grpc !== undefined) checkPort(out, `${at}.port`, grpc.port);
  });
  if (count === 0) out.push(required(path, "must specify a handler type"));
}

function checkHttpGet(out: Errors, path: string, action: HTTPGetAction): void {
  if (empty(action.path)) out.push(required(`${path}.path`));
  checkPort(out, `${path}.port`, action.port);
  const scheme = action.scheme ?? "";
  if (scheme !== "HTTP" && scheme !== "HTTPS") out.push(notSupported(`${path}.scheme`, scheme, ["HTTP", "HTTPS"]));
  for (const header of action.httpHeaders ?? []) {
    if (isFull(out)) return;
    faults(out, `${path}.httpHeaders`, header.name, isHttpHeaderName(header.name));
  }
}
