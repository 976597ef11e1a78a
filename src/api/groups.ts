// The order of groups and versions in discovery. Each group version has a priority: its APIService says which, and what
// has none (it was not made yet, or was deleted) goes by the one the server would give it.
import { groupVersionData } from "./gen/kinds.ts";
import { compareVersions, type Group, type Scheme } from "./scheme.ts";

/** A group version as it is ordered among others. */
export interface Registration {
  readonly group: string;
  readonly version: string;
  /** The highest among its versions places a group. Infinite: it comes first, and no APIService says otherwise. */
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** The server made its APIService for what is served: without that it says nothing, and goes soon. */
  readonly isAutomatic?: boolean;
}

/** What APIServices of definitions say (upstream): behind all built-in groups, versions by their names. */
const definedPriorities = { groupPriority: 1000, versionPriority: 100 };

const first = Number.POSITIVE_INFINITY;

/** The name of the APIService of a group version. No version has a dot, so no two share one. */
export function registrationName({ group, version }: Pick<Registration, "group" | "version">): string {
  return `${version}.${group}`;
}

/** A group version that definitions define. */
export function definedRegistration(group: string, version: string): Registration {
  return { group, version, ...definedPriorities };
}

/** The served built-in group versions with upstream's priorities, by the names of their APIServices. */
export function builtInRegistrations({ identity, groupVersion }: Scheme): ReadonlyMap<string, Registration> {
  const found = new Map<string, Registration>();
  for (const { group: canonical, version, groupPriority = first, versionPriority = first } of groupVersionData) {
    const registration = { group: identity.spell(canonical), version, groupPriority, versionPriority };
    if (groupVersion(registration.group, version) !== undefined) {
      found.set(registrationName(registration), registration);
    }
  }
  return found;
}

/** Whether APIServices say where it stands: not for the group of APIServices itself. */
export function isOrdered({ groupPriority }: Registration): boolean {
  return groupPriority !== first;
}

/** Whether two place their group version alike. */
export function isPlacedAlike(a: Registration | undefined, b: Registration | undefined): boolean {
  return a?.groupPriority === b?.groupPriority && a?.versionPriority === b?.versionPriority;
}

/** Group versions as groups in the order of discovery. */
export function orderGroups(registrations: Iterable<Registration>): Group[] {
  const drafts = new Map<string, Draft>();
  for (const registration of registrations) {
    const { group, groupPriority: priority } = registration;
    const name = registrationName(registration);
    const draft = drafts.get(group);
    if (draft === undefined) {
      drafts.set(group, { group, priority, name, versions: [registration] });
      continue;
    }
    draft.versions.push(registration);
    if (priority < draft.priority || (priority === draft.priority && name > draft.name)) continue;
    draft.priority = priority;
    draft.name = name;
  }
  const ordered = [...drafts.values()].sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
  return ordered.map(({ group, priority, versions: all }) => {
    all.sort((a, b) => b.versionPriority - a.versionPriority || compareVersions(a.version, b.version));
    const versions = all.map(({ version }) => version);
    return { group, priority, versions, preferredVersion: versions[0] as string };
  });
}

/** A group whose versions are being gathered. */
interface Draft {
  readonly group: string;
  priority: number;
  /** Of the APIService that has this priority: groups of one priority are ordered by it (upstream). */
  name: string;
  readonly versions: Registration[];
}
