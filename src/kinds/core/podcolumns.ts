// How pods are shown: the state of a pod is the first thing that keeps it from running.
import type { ContainerState, ContainerStatus, Pod } from "../../api/gen/core/v1.ts";
import { parseTime } from "../../api/time.ts";
import { ageColumn, type Columns, column, elapsed, nameColumn, none, type RowCondition, reads } from "../columns.ts";

/** Columns of pods. */
export function podColumns(): Columns<Pod> {
  return {
    columns: [
      nameColumn,
      column("Ready", "Ready containers of all containers", (pod) => {
        const ready = initFault(pod) === undefined ? runningContainers(pod) : 0;
        return `${ready}/${pod.spec.containers?.length ?? 0}`;
      }),
      column("Status", "What the pod is doing, or what keeps it from running", status),
      column("Restarts", "How often containers were restarted, and how long ago the last time was", restarts),
      ageColumn,
      column("IP", "Address of the pod; none until it has one", (pod) => pod.status.podIPs?.[0]?.ip || none, {
        wide: true,
      }),
      column("Node", "Node the pod is bound to", (pod) => pod.spec.nodeName || none, { wide: true }),
      column(
        "Nominated Node",
        "Node on which room is being made for the pod",
        (pod) => pod.status.nominatedNodeName || none,
        { wide: true },
      ),
      column("Readiness Gates", "Readiness gates whose condition holds, of all", readinessGates, { wide: true }),
    ],
    conditions: completed,
    reads: reads(
      "metadata.deletionTimestamp",
      // How many there are.
      ...["spec.containers.", "spec.initContainers.", "spec.nodeName", "spec.readinessGates"],
      ...["phase", "reason", "podIPs", "nominatedNodeName"].map((field) => `status.${field}`),
      ...["status.conditions.type", "status.conditions.status"],
      ...["initContainerStatuses", "containerStatuses"].flatMap((list) =>
        ["state", "lastState", "ready", "restartCount"].map((field) => `status.${list}.${field}`),
      ),
    ),
  };
}

/** The first init container that is not done: where it stands and what it says. */
function initFault(pod: Pod): { readonly index: number; readonly text: string } | undefined {
  const statuses = pod.status.initContainerStatuses ?? [];
  for (const [index, { state }] of statuses.entries()) {
    if (state.terminated?.exitCode === 0) continue;
    const waiting = state.waiting?.reason ?? "";
    let text = `${index}/${pod.spec.initContainers?.length ?? 0}`;
    if (state.terminated !== undefined) text = ending(state);
    else if (waiting !== "" && waiting !== "PodInitializing") text = waiting;
    return { index, text: `Init:${text}` };
  }
  return undefined;
}

/** Why a container that terminated did. */
function ending({ terminated }: ContainerState): string {
  if (terminated?.reason) return terminated.reason;
  return terminated?.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated?.exitCode ?? 0}`;
}

/** What keeps a container from running; empty: nothing. */
function containerFault({ state }: ContainerStatus): string {
  if (state.waiting?.reason) return state.waiting.reason;
  return state.terminated === undefined ? "" : ending(state);
}

function isRunning(container: ContainerStatus): boolean {
  return containerFault(container) === "" && container.ready && container.state.running !== undefined;
}

function runningContainers(pod: Pod): number {
  return (pod.status.containerStatuses ?? []).filter(isRunning).length;
}

function status(pod: Pod): string {
  if (pod.metadata.deletionTimestamp !== undefined) {
    return pod.status.reason === "NodeLost" ? "Unknown" : "Terminating";
  }
  const init = initFault(pod);
  if (init !== undefined) return init.text;
  // The first container that has something to say is heard.
  const fault = (pod.status.containerStatuses ?? []).map(containerFault).find((text) => text !== "");
  const text = fault ?? (pod.status.reason || (pod.status.phase ?? ""));
  if (text !== "Completed" || runningContainers(pod) === 0) return text;
  const isReady = (pod.status.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
  return isReady ? "Running" : "NotReady";
}

function restarts(pod: Pod, now: () => number): string {
  const init = initFault(pod);
  const inits = pod.status.initContainerStatuses ?? [];
  const begun = init === undefined ? inits : inits.slice(0, init.index + 1);
  const containers = init === undefined ? (pod.status.containerStatuses ?? []) : [];
  const count = (init === undefined ? containers : begun).reduce((sum, { restartCount }) => sum + restartCount, 0);
  let latest: number | undefined;
  for (const { lastState } of [...begun, ...containers]) {
    const finished = lastState.terminated?.finishedAt;
    const at = finished === undefined ? undefined : parseTime(finished);
    if (at !== undefined && (latest === undefined || at > latest)) latest = at;
  }
  return latest === undefined ? String(count) : `${count} (${elapsed(now() - latest)} ago)`;
}

function readinessGates(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return none;
  const conditions = pod.status.conditions ?? [];
  const open = gates.filter(
    ({ conditionType }) =>
      // The first condition of the type counts.
      conditions.find(({ type }) => type === conditionType)?.status === "True",
  );
  return `${open.length}/${gates.length}`;
}

const messages = new Map([
  ["Succeeded", "The pod has completed successfully."],
  ["Failed", "The pod failed."],
]);

function completed(pod: Pod): readonly RowCondition[] {
  const reason = pod.status.phase ?? "";
  const message = messages.get(reason);
  return message === undefined ? [] : [{ type: "Completed", status: "True", reason, message }];
}
