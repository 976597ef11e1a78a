// What strategies and validation know of a request, for tests that call them directly.
import { identities } from "../../src/api/identity.ts";
import type { Resource } from "../../src/api/scheme.ts";
import { defaultGates } from "../../src/config/gates.ts";
import type { StrategyContext } from "../../src/kinds/strategy.ts";

/** The context of an administrator's request for a resource, under the identity `kubernetes`; `more` says otherwise. */
export function contextOf(
  { group, version }: Pick<Resource, "group" | "version">,
  more: Partial<StrategyContext> = {},
): StrategyContext {
  return {
    identity: identities.kubernetes,
    group,
    version,
    now: "2026-01-01T00:00:00Z",
    user: { name: "admin", uid: "", groups: ["system:masters"], extra: new Map() },
    dryRun: false,
    gates: defaultGates,
    ...more,
  };
}
