// How often the rules of metadata run when a kind is written. The write path runs them once for all kinds; upstream's own
// rules of most kinds run them again, some twice, and a client is told of a fault each time.

/** Runs beyond those of the write path: of the rules of metadata, and of those of a change of metadata. */
export type MetaRuns = readonly [rules: number, change: number];

/** What a kind's own rules say about metadata. */
export interface MetaRules {
  /** On a change of the object; of its parts. */
  readonly update: MetaRuns;
  readonly parts?: Readonly<Record<string, MetaRuns>>;
  /** Names of finalizers are left alone, beyond being qualified names. */
  readonly anyFinalizer?: true;
  /** A new object's metadata is looked at only where all else is well. */
  readonly last?: true;
  /** A new object's name is looked at only where all else is well. */
  readonly nameLast?: true;
}

/** The rules of a kind that says nothing else. */
export const commonMetaRules: MetaRules = { update: [0, 1] };

/** Runs on a change of an object (`subresource` empty) or of a part of it. */
export function metaRunsOf({ update, parts }: MetaRules, subresource: string): MetaRuns {
  if (subresource === "") return update;
  const part = parts !== undefined && Object.hasOwn(parts, subresource) ? parts[subresource] : undefined;
  return part ?? commonMetaRules.update;
}
