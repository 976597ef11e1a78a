// Levels and versions: what the labels of a namespace ask for, and what of it a pod violates.
import type { FieldError } from "../../api/fielderror.ts";
import { invalid } from "../../api/fielderror.ts";
import type { Identity } from "../../api/identity.ts";
import { checks, type Subject, type Violation } from "./checks.ts";

/** How much pods may. */
export type Level = "privileged" | "baseline" | "restricted";

/** Every level, from the widest. */
export const levels: readonly Level[] = ["privileged", "baseline", "restricted"];

/** The newest version there are checks for: 1.23. */
const newestMinor = 23;

/** A level as a version of the standards has it. */
export interface Rule {
  readonly level: Level;
  /** `latest` or `v1.<minor>`. */
  readonly version: string;
}

/** What is enforced, audited and warned of. */
export interface Policy {
  readonly enforce: Rule;
  readonly audit: Rule;
  readonly warn: Rule;
}

/** The modes, in the order their labels are looked at. */
export const modes = ["enforce", "audit", "warn"] as const;

const everything: Rule = { level: "privileged", version: "latest" };

/** What holds where nothing is configured. */
export const openPolicy: Policy = { enforce: everything, audit: everything, warn: everything };

/** `restricted:v1.23`. */
export function ruleText({ level, version }: Rule): string {
  return `${level}:${version}`;
}

/** Whether a rule of one level is no stricter than another's. */
export function isNoStricter(one: Rule, other: Rule): boolean {
  return levels.indexOf(one.level) <= levels.indexOf(other.level);
}

/** A level by its name. */
export function parseLevel(text: string): Level | undefined {
  return levels.find((level) => level === text);
}

/** Whether a text is a version: `latest`, or `v1.` and a number. */
export function isVersion(text: string): boolean {
  return text === "latest" || /^v1\.([0-9]|[1-9][0-9]*)$/.test(text);
}

/** What the labels of a namespace ask for, `defaults` where they do not, and what is wrong with them. */
export function policyOf(
  labels: ReadonlyMap<string, string> | undefined,
  defaults: Policy,
  { spell }: Identity,
): { readonly policy: Policy; readonly errors: readonly FieldError[] } {
  const prefix = spell("pod-security.kubernetes.io/");
  const errors: FieldError[] = [];
  const rule = (mode: (typeof modes)[number]): Rule => {
    let { level, version } = defaults[mode];
    const wantedLevel = labels?.get(`${prefix}${mode}`);
    if (wantedLevel !== undefined) {
      const known = parseLevel(wantedLevel);
      // What cannot be read enforces the most, and neither audits nor warns.
      level = known ?? (mode === "enforce" ? "restricted" : "privileged");
      if (known === undefined)
        errors.push(wrong(`${prefix}${mode}`, wantedLevel, `must be one of ${levels.join(", ")}`));
    }
    const wantedVersion = labels?.get(`${prefix}${mode}-version`);
    if (wantedVersion !== undefined) {
      version = isVersion(wantedVersion) ? wantedVersion : "latest";
      if (!isVersion(wantedVersion)) {
        errors.push(wrong(`${prefix}${mode}-version`, wantedVersion, 'must be "latest" or "v1.x"'));
      }
    }
    return { level, version };
  };
  return { policy: { enforce: rule("enforce"), audit: rule("audit"), warn: rule("warn") }, errors };
}

function wrong(label: string, value: string, why: string): FieldError {
  return invalid(`metadata.labels[${label}]`, value, why);
}

/** Everything a pod does that a rule forbids. */
export function violationsOf(rule: Rule, subject: Subject, identity: Identity): Violation[] {
  if (rule.level === "privileged") return [];
  const minor = rule.version === "latest" ? newestMinor : Math.min(newestMinor, Number(rule.version.slice(3)));
  const found: Violation[] = [];
  for (const { level, from, to = newestMinor, check } of checks) {
    if (minor < from || minor > to || (level === "restricted" && rule.level !== "restricted")) continue;
    const violation = check(subject, identity);
    if (violation !== undefined) found.push(violation);
  }
  return found;
}

/** `reason (detail), reason (detail)`. */
export function detailText(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`)).join(", ");
}

/** `reason, reason`. */
export function reasonText(violations: readonly Violation[]): string {
  return violations.map(({ reason }) => reason).join(", ");
}
