// Health checks: `/livez`, `/readyz` and `/healthz`, with their individual checks, `verbose` and `exclude`. A check
// passes only for a component that exists and works. Machines read the code; the text is for people.

/** One check: undefined when it passes, else an error message (clients see only "reason withheld"). */
export interface Check {
  readonly name: string;
  readonly failure: () => string | undefined | Promise<string | undefined>;
  /** Asked by readyz alone; without it by livez, readyz and healthz. */
  readonly only?: "readyz";
  /** A step of the start: livez takes it for done while --livez-grace-period lasts. */
  readonly starts?: true;
}

/** Inputs of a front's checks. */
export interface HealthSources {
  /** An error message about the store thread; undefined when it answered a probe. */
  readonly storage: () => Promise<string | undefined>;
  /** Which front does not turn; undefined: all do. */
  readonly hung: () => string | undefined;
  /** Views hold everything committed at start. */
  readonly synced: () => boolean;
  /** Whether a step of the start is done, or what it creates exists. */
  readonly done: (step: BootStep) => boolean;
  /** Which APIServices of the server's own group versions were not seen available yet, in a line; undefined: none. */
  readonly unregistered: () => string | undefined;
  readonly shuttingDown: () => boolean;
  /** Of KMS plugins. */
  readonly kms: readonly Check[];
}

/** An answer of a health endpoint. */
export interface HealthAnswer {
  readonly code: number;
  readonly body: string;
}

/** Steps of the start, by the names probes ask for; in the order they are printed. */
export const bootSteps = [
  "start-kube-apiserver-admission-initializer",
  "generic-apiserver-start-informers",
  "bootstrap-controller",
  "rbac/bootstrap-roles",
  "scheduling/bootstrap-system-priority-classes",
  "priority-and-fairness-config-producer",
  "start-cluster-authentication-info-controller",
  "apiservice-status-available-controller",
  "kube-apiserver-autoregistration",
] as const;

/** One of them. */
export type BootStep = (typeof bootSteps)[number];

/** The checks of a front, in the order they are printed. */
export function createChecks(sources: HealthSources): readonly Check[] {
  const step = (name: BootStep) => (): string | undefined => (sources.done(name) ? undefined : "not finished");
  const synced = (): string | undefined => (sources.synced() ? undefined : "logs are being read");
  const running = (): string | undefined => (sources.shuttingDown() ? "process is shutting down" : undefined);
  const checks: Check[] = [
    { name: "ping", failure: () => undefined },
    { name: "log", failure: () => undefined },
    { name: "etcd", failure: sources.storage },
    ...sources.kms,
    { name: "fronts", failure: sources.hung },
    { name: "informer-sync", failure: synced, only: "readyz" },
  ];
  for (const name of bootSteps) checks.push({ name: `poststarthook/${name}`, failure: step(name), starts: true });
  checks.push({ name: "autoregister-completion", failure: sources.unregistered, starts: true });
  checks.push({ name: "shutdown", failure: running, only: "readyz" });
  return checks;
}

/** Answers `path` (`/readyz`, `/livez/ping`, …): 200 or 500; undefined when there is no such endpoint or check. */
export function answerHealth(
  checks: readonly Check[],
  path: string,
  { verbose, exclude, inGrace }: { verbose: boolean; exclude: readonly string[]; inGrace: boolean },
): Promise<HealthAnswer> | undefined {
  const [, group = "", ...rest] = path.split("/");
  if (group !== "livez" && group !== "readyz" && group !== "healthz") return undefined;
  const lenient = inGrace && group === "livez";
  const asked = checks
    .filter((check) => check.only === undefined || check.only === group)
    .map((check) => (lenient && check.starts ? { ...check, failure: () => undefined } : check));
  if (rest.length === 0) return answerGroup(group, asked, verbose, exclude);
  const check = asked.find((c) => c.name === rest.join("/"));
  return check && answerOne(check);
}

async function answerOne({ failure }: Check): Promise<HealthAnswer> {
  const wrong = await failure();
  return wrong === undefined ? { code: 200, body: "ok" } : { code: 500, body: `internal server error: ${wrong}\n` };
}

async function answerGroup(
  group: string,
  checks: readonly Check[],
  verbose: boolean,
  exclude: readonly string[],
): Promise<HealthAnswer> {
  const lines: string[] = [];
  let failed = false;
  for (const { name, failure } of checks) {
    if (exclude.includes(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const wrong = (await failure()) !== undefined;
    failed ||= wrong;
    lines.push(wrong ? `[-]${name} failed: reason withheld` : `[+]${name} ok`);
  }
  const unknown = exclude.filter((name) => !checks.some((check) => check.name === name));
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (failed) return { code: 500, body: `${lines.join("\n")}\n${group} check failed\n` };
  // The document's words, whichever endpoint is asked.
  return { code: 200, body: verbose ? `${lines.join("\n")}\nhealthz check passed\n` : "ok" };
}
