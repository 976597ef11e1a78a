// Types of flags and of a parsed command line.

/** Types of values; a topic may be omitted. */
export type FlagType = "bool" | "string" | "int" | "float" | "duration" | "map" | "list" | "topic";

/** One flag. */
export interface Flag {
  readonly name: string;
  readonly group: string;
  readonly type: FlagType;
  /** As it is written on the command line; empty for none. */
  readonly default: string;
  readonly help: string;
  /** A few words for the main --help; left out: the flag is in the help of its group only. */
  readonly brief?: string;
  /** Its one-letter form. */
  readonly short?: string;
  /** The values it takes, when they are few. */
  readonly choices?: readonly string[];
  /** Bounds of a number, inclusive; of a duration in milliseconds. */
  readonly min?: number;
  readonly max?: number;
}

/** Values as texts, by flag name, defaults filled in; occurrences of a map or list flag are joined by commas. */
export type FlagValues = ReadonlyMap<string, string>;
