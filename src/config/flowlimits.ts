// Bounds of flow control and of shedding, a part of those in limits.ts: unit and reason of each.
const KiB = 1024;

/** They are read as `limits`. */
export const flowLimits = {
  /**
   * Flow control. A list takes a seat for so many objects (upstream: the same) or bytes, a change one more for so many
   * watchers of the kind; at most ten (upstream).
   */
  listObjectsPerSeat: 100,
  listBytesPerSeat: 256 * KiB,
  watchersPerSeat: 1_000,
  seatsPerRequestMax: 10,
  /** How long the size of a list is taken for what it was, in milliseconds, and how many are remembered for each kind. */
  listEstimateMs: 10_000,
  listEstimatesMax: 1_000,
  /** Objects that are measured to know the size of a list. */
  listSampleMax: 16,
  /** Levels whose seats all fronts share; of more, each front has its part for itself. */
  levelSlotsMax: 1_024,
  /** Seats of a level from which on no user gets all: two thirds at most, and n users 2 / (2n + 1) each. */
  sharedLevelSeatsMin: 8,
  /** A front whose turn it is to start a request, and which does not look for so long, is passed over, in milliseconds. */
  frontTurnMs: 10,
  /** A request whose body is awaited longer gives its seats to others meanwhile, in milliseconds. */
  bodySeatMsMax: 2_000,
  /** Flow schemas and levels are compiled again no sooner than this after the last time, in milliseconds, or ten times as long as that took. */
  flowCompileMsMin: 20,
  /** Flows of one schema whose queues are remembered. */
  flowHandsMax: 2_000,
  /** Queues of one level, and requests that wait, that one dump shows. */
  dumpedQueuesMax: 1_024,
  dumpedRequestsMax: 10_000,
  /** How often built-in flow schemas and levels are put right, in milliseconds (upstream: a minute). */
  flowObjectsMs: 60_000,
  /** How often a front notes how full its levels are, in milliseconds. */
  flowSampleMs: 1_000,
  /** A front sheds nothing before it is this old, in milliseconds: it compiles what it runs. */
  shedGraceMs: 5_000,
  /** What owners cost a front is that of about so long, in milliseconds, and decays in steps of at least this. */
  shedCostMs: 5_000,
  shedDecayMs: 1_000,
  /** Owners whose cost is known; of more, the lighter half is forgotten. And a cost that is forgotten. */
  shedOwnersMax: 1_024,
  shedCostMin: 0.05,
  /** Costs are in reads of one small object, each about 0.15 ms. A change costs so many more, a new watch so many in all. */
  shedChangeCost: 3,
  shedWatchCost: 4,
  /** A list of unknown size, where there is no flow control to estimate it. */
  shedListCost: 5,
  /** Bytes of an answer that cost as much as a read. */
  shedBytesPerCost: 64 * KiB,
  /** Costs a second of a front that are served however late it is, divided evenly among owners: a hundredth of its time. */
  shedServedPerSecond: 50,
  /** The log tells once in so long that requests are shed, in milliseconds. */
  shedToldMs: 60_000,
} as const;
