// Health checks: `/livez`, `/readyz` and `/healthz`, with their individual checks, `verbose` and `exclude`.
// Machines read the code; the text is for people and follows the reference, names and order included.

/** One check: undefined when it is well, else what is wrong (people read only "reason withheld"). */
export interface Check {
  readonly name: string;
  readonly failure: () => string | undefined;
  /** Asked by readyz alone; without it by livez, readyz and healthz. */
  readonly only?: "readyz";
}

/** What a front tells its checks from. */
export interface HealthSources {
  /** What is wrong with the store thread; undefined when it answers. */
  readonly storage: () => string | undefined;
  /** Views hold everything committed at start. */
  readonly synced: () => boolean;
  /** Namespaces and other objects a server starts with exist. */
  readonly bootstrapped: () => boolean;
  readonly shuttingDown: () => boolean;
}

/** An answer of a health endpoint. */
export interface HealthAnswer {
  readonly code: number;
  readonly body: string;
}

/**
 * Start-up steps of the reference that probes ask for one by one. Here they are well when the boot is through:
 * what each stands for is either set up before that, or is not part of this server yet and holds nobody up.
 */
const bootSteps = [
  "start-kube-apiserver-admission-initializer",
  "generic-apiserver-start-informers",
  "priority-and-fairness-config-consumer",
  "priority-and-fairness-filter",
  "start-apiextensions-informers",
  "start-apiextensions-controllers",
  "crd-informer-synced",
  "bootstrap-controller",
  "rbac/bootstrap-roles",
  "scheduling/bootstrap-system-priority-classes",
  "priority-and-fairness-config-producer",
  "start-cluster-authentication-info-controller",
  "start-kube-aggregator-informers",
  "apiservice-registration-controller",
  "apiservice-status-available-controller",
  "kube-apiserver-autoregistration",
];

/** The checks of a front, in the order they are printed. */
export function createChecks(sources: HealthSources): readonly Check[] {
  const booted = (): string | undefined => (sources.bootstrapped() ? undefined : "not finished");
  const synced = (): string | undefined => (sources.synced() ? undefined : "logs are being read");
  const running = (): string | undefined => (sources.shuttingDown() ? "process is shutting down" : undefined);
  return [
    { name: "ping", failure: () => undefined },
    { name: "log", failure: () => undefined },
    { name: "etcd", failure: sources.storage },
    { name: "informer-sync", failure: synced, only: "readyz" },
    ...bootSteps.map((step) => ({ name: `poststarthook/${step}`, failure: booted })),
    { name: "autoregister-completion", failure: booted },
    { name: "poststarthook/apiservice-openapi-controller", failure: booted },
    { name: "shutdown", failure: running, only: "readyz" },
  ];
}

/** Answers `path` (`/readyz`, `/livez/ping`, …): 200 or 500; undefined when there is no such endpoint or check. */
export function answerHealth(
  checks: readonly Check[],
  path: string,
  verbose: boolean,
  exclude: readonly string[],
): HealthAnswer | undefined {
  const [, group = "", ...rest] = path.split("/");
  if (group !== "livez" && group !== "readyz" && group !== "healthz") return undefined;
  const asked = checks.filter((check) => check.only === undefined || check.only === group);
  if (rest.length === 0) return answerGroup(group, asked, verbose, exclude);
  const check = asked.find((c) => c.name === rest.join("/"));
  if (check === undefined) return undefined;
  const failure = check.failure();
  return failure === undefined ? { code: 200, body: "ok" } : { code: 500, body: `internal server error: ${failure}\n` };
}

function answerGroup(
  group: string,
  checks: readonly Check[],
  verbose: boolean,
  exclude: readonly string[],
): HealthAnswer {
  const lines: string[] = [];
  let failed = false;
  for (const { name, failure } of checks) {
    if (exclude.includes(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const wrong = failure() !== undefined;
    failed ||= wrong;
    lines.push(wrong ? `[-]${name} failed: reason withheld` : `[+]${name} ok`);
  }
  const unknown = exclude.filter((name) => !checks.some((check) => check.name === name));
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (failed) return { code: 500, body: `${lines.join("\n")}\n${group} check failed\n` };
  return { code: 200, body: verbose ? `${lines.join("\n")}\n${group} check passed\n` : "ok" };
}
