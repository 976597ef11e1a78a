// Flow control (upstream: API priority and fairness): each request belongs to a flow of a flow schema, which has it run at a
// priority level. What levels there are is read from their objects; mandatory ones are in force whatever becomes of those.
import type { FlowSchema, PriorityLevelConfiguration } from "../api/gen/flowcontrol/v1beta2.ts";
import type { ApiObject } from "../api/object.ts";
import type { Scheme } from "../api/scheme.ts";
import type { User } from "../api/user.ts";
import type { Question } from "../authz/authorizer.ts";
import type { Clock } from "../base/clock.ts";
import { Recent } from "../base/recent.ts";
import type { Objects, ObjectTable } from "../cache/view/objects.ts";
import { limits } from "../config/limits.ts";
import type { FlowCounts, FlowMeter, KindFigures, LevelFigures } from "../observe/flowcontrol.ts";
import { Dealer } from "./dealer.ts";
import { FlowSeat } from "./flowseat.ts";
import { Level, type LevelParts, type LevelShape } from "./level.ts";
import { type BuiltIns, builtIns, flowGroup, servedVersion } from "./objects.ts";
import { type CompiledSchema, compileSchema, SchemaIndex } from "./schemas.ts";
import { Seats, type SeatWords } from "./seats.ts";
import type { Flow } from "./ticket.ts";

type StoredSchema = ApiObject & FlowSchema;
type StoredLevel = ApiObject & PriorityLevelConfiguration;

/** A level without an object in a list of built-in ones. */
interface LevelSource {
  readonly name: string;
  readonly uid: string;
  readonly spec: PriorityLevelConfiguration["spec"];
}

/** What a front's flow control is made of. */
export interface FlowControlOptions {
  readonly scheme: Scheme;
  readonly objects: Objects;
  readonly clock: Clock;
  /** Seats of the server, all levels together. */
  readonly seats: number;
  /** Of reading and of changing requests, for figures. */
  readonly readOnlyMax: number;
  readonly mutatingMax: number;
  /** How long a request waits at most, in milliseconds. */
  readonly waitMsMax: number;
  /** Of this process, the same on all fronts: by which flows are dealt their queues. */
  readonly secret: string;
  readonly words: SeatWords;
  /** Which of the fronts this is. */
  readonly front: number;
  /** Makes the meter. */
  readonly meter: (levels: () => readonly LevelFigures[], kinds: () => readonly KindFigures[]) => FlowMeter;
  /** Asks for the slot of a level, which slotted() tells; says that it is not used any more. */
  readonly openSlot: (level: string) => void;
  readonly closeSlot: (level: string) => void;
}

/** A schema and its level, and what its requests have in common. */
export interface Placement {
  readonly schema: CompiledSchema;
  readonly level: Level;
  readonly counts: FlowCounts;
  readonly hands: Recent<string, Uint32Array>;
}

/** How a request counts. */
export type FlowKind = KindFigures["kind"];

const onlyQueue: ArrayLike<number> = [0];

/** Flow control of one front. */
export class FlowControl {
  readonly #options: FlowControlOptions;
  readonly #parts: LevelParts;
  readonly #meter: FlowMeter;
  readonly #dealer: Dealer;
  readonly #builtIns: BuiltIns;
  readonly #schemaTable: ObjectTable<StoredSchema>;
  readonly #levelTable: ObjectTable<StoredLevel>;
  /** By object, which is decoded once per change. */
  readonly #compiled = new WeakMap<FlowSchema["spec"], CompiledSchema>();
  readonly #levels = new Map<string, Level>();
  /** Slots that were asked for and not told yet, by level. */
  readonly #slotsAsked = new Map<string, number>();
  readonly #kinds = { readOnly: { executing: 0, waiting: 0 }, mutating: { executing: 0, waiting: 0 } };
  #placements = new Map<CompiledSchema, Placement>();
  #index = new SchemaIndex([]);
  #versions: readonly [schemas: number, levels: number] | undefined;
  #compileAtMs = 0;
  #isListening = false;
  #isClosed = false;
  #sampling: NodeJS.Timeout | undefined;

  constructor(options: FlowControlOptions) {
    this.#options = options;
    this.#meter = options.meter(
      () => this.figures(),
      () => this.#kindFigures(),
    );
    this.#dealer = new Dealer(options.secret);
    this.#builtIns = builtIns(options.scheme.identity);
    const table = <T extends ApiObject>(resource: string): ObjectTable<T> =>
      options.objects.table<T>(flowGroup, servedVersion(options.scheme, resource) ?? "", resource);
    this.#schemaTable = table("flowschemas");
    this.#levelTable = table("prioritylevelconfigurations");
    this.#parts = {
      clock: options.clock,
      waitMsMax: options.waitMsMax,
      listens: () => this.#listen(),
      // In a later turn: the level is in the middle of something.
      idle: () => setImmediate(() => this.#tidy()),
    };
  }

  /** Levels that exist, or still work on something. */
  get levels(): Iterable<Level> {
    return this.#levels.values();
  }

  /** Starts to note how full levels are. The timer does not keep the thread alive. */
  start(): void {
    this.#refresh(true);
    this.#sampling = setInterval(() => this.#meter.sample(this.figures(), this.#kindFigures()), limits.flowSampleMs);
    this.#sampling.unref();
  }

  /** Ends: what waits stays, and no memory that fronts share is touched any more. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#sampling);
    for (const level of this.#levels.values()) level.close();
  }

  /** The answer to openSlot(); undefined: there is none left. Of a level that came back meanwhile the last one counts. */
  slotted(name: string, slot: number | undefined): void {
    const asked = (this.#slotsAsked.get(name) ?? 1) - 1;
    if (asked > 0) this.#slotsAsked.set(name, asked);
    else this.#slotsAsked.delete(name);
    if (asked === 0 && slot !== undefined && !this.#isClosed) this.#levels.get(name)?.seats.share(slot);
  }

  /** The schema of a request, and its level. */
  classify(user: User, asked: Question): Placement {
    this.#refresh(false);
    const schema = this.#index.match(user, asked);
    const placement = schema === undefined ? undefined : this.#placements.get(schema);
    return placement ?? this.#catchAll();
  }

  /** What a request asks of a level. Takes nothing yet. */
  seat(placement: Placement, user: User, asked: Question, owner: string, kind: FlowKind, width: number): FlowSeat {
    const { schema, level, counts, hands } = placement;
    const { queues, handSize } = level.shape;
    let [hand, distinguisher] = [onlyQueue, ""];
    if (queues > 1) {
      distinguisher = distinguisherOf(schema, user, asked);
      let dealt = hands.get(distinguisher);
      if (dealt === undefined) {
        dealt = this.#dealer.deal(`${schema.name}\0${distinguisher}`, queues, handSize);
        hands.set(distinguisher, dealt);
      }
      hand = dealt;
    }
    const flow: Flow = { schema: schema.name, distinguisher, hand, owner, counts };
    return new FlowSeat(level, flow, width, { user, asked }, this.#kinds[kind]);
  }

  /** How full the levels of this front are, exempt ones left out. */
  figures(): LevelFigures[] {
    this.#refresh(false);
    return [...this.#levels.values()].filter(({ shape }) => !shape.isExempt).map((level) => level.figures());
  }

  /** Takes in every change now, and compiles what changed. */
  update(): void {
    this.#refresh(true);
  }

  #kindFigures(): KindFigures[] {
    const { readOnlyMax, mutatingMax } = this.#options;
    return [
      { kind: "mutating", ...this.#kinds.mutating, max: mutatingMax },
      { kind: "readOnly", ...this.#kinds.readOnly, max: readOnlyMax },
    ];
  }

  /** Compiles what changed: at once, or when enough time has passed. Objects that change all the time cost a tenth of a front. */
  #refresh(atOnce: boolean): void {
    const versions = [this.#schemaTable.refresh(), this.#levelTable.refresh()] as const;
    const known = this.#versions;
    if (known !== undefined && known[0] === versions[0] && known[1] === versions[1]) return;
    const { clock } = this.#options;
    const now = clock.monotonic();
    if (known !== undefined && !atOnce && now < this.#compileAtMs) return;
    this.#versions = versions;
    this.#compile();
    const done = clock.monotonic();
    this.#compileAtMs = done + Math.max(limits.flowCompileMsMin, 10 * (done - now));
  }

  #compile(): void {
    const sources = this.#levelSources();
    const { seats: total } = this.#options;
    const sum = sources.reduce((all, { spec }) => all + sharesOf(spec), 0);
    const shapes = new Map<string, LevelShape>();
    for (const source of sources) shapes.set(source.name, shapeOf(source, total, sum));
    for (const [name, shape] of shapes) {
      const level = this.#levels.get(name);
      if (level === undefined) this.#open(shape);
      else level.configure(shape);
    }
    for (const [name, level] of this.#levels) if (!shapes.has(name)) level.configure(undefined);
    this.#tidy();
    this.#placements = new Map();
    const schemas = this.#schemas().filter(({ level }) => shapes.has(level));
    for (const schema of schemas) this.#place(schema);
    this.#index = new SchemaIndex(schemas);
  }

  /** Stored levels, and mandatory ones that are not; before there are any, all built-in ones. */
  #levelSources(): LevelSource[] {
    const stored = this.#levelTable.all();
    const sources = stored.map(({ metadata, spec }) => ({ name: metadata.name ?? "", uid: metadata.uid ?? "", spec }));
    const known = new Set(sources.map(({ name }) => name));
    for (const { name, mandatory, spec } of this.#builtIns.levels) {
      if ((mandatory || stored.length === 0) && !known.has(name)) sources.push({ name, uid: "", spec });
    }
    return sources;
  }

  #schemas(): CompiledSchema[] {
    const stored = this.#schemaTable.all();
    const schemas = stored.map(({ metadata, spec }) =>
      this.#compileSchema(metadata.name ?? "", metadata.uid ?? "", spec),
    );
    const known = new Set(schemas.map(({ name }) => name));
    for (const { name, mandatory, spec } of this.#builtIns.schemas) {
      if ((mandatory || stored.length === 0) && !known.has(name)) schemas.push(this.#compileSchema(name, "", spec));
    }
    return schemas;
  }

  #compileSchema(name: string, uid: string, spec: FlowSchema["spec"]): CompiledSchema {
    let schema = this.#compiled.get(spec);
    if (schema === undefined) {
      schema = compileSchema(name, uid, spec);
      this.#compiled.set(spec, schema);
    }
    return schema;
  }

  #place(schema: CompiledSchema): Placement | undefined {
    const level = this.#levels.get(schema.level);
    if (level === undefined) return undefined;
    const counts = this.#meter.counts(schema.name, level.shape.name);
    const placement = { schema, level, counts, hands: new Recent<string, Uint32Array>(limits.flowHandsMax) };
    this.#placements.set(schema, placement);
    return placement;
  }

  /** Where requests run that no schema matches: whoever changed catch-all, it takes what is left. */
  #catchAll(): Placement {
    const builtIn = this.#builtIns.schemas.find(({ name }) => name === "catch-all") as BuiltIns["schemas"][number];
    const schema = this.#compileSchema(builtIn.name, "", builtIn.spec);
    return this.#placements.get(schema) ?? (this.#place(schema) as Placement);
  }

  #open(shape: LevelShape): void {
    const { words, front, openSlot } = this.#options;
    this.#levels.set(shape.name, new Level(shape, new Seats(words, front, shape.seats), this.#parts));
    if (shape.isExempt) return;
    this.#slotsAsked.set(shape.name, (this.#slotsAsked.get(shape.name) ?? 0) + 1);
    openSlot(shape.name);
  }

  /** Lets levels go that are not configured any more and have nothing left to do. */
  #tidy(): void {
    if (this.#isClosed) return;
    for (const [name, level] of this.#levels) {
      if (!level.isQuiescing || !level.isIdle) continue;
      this.#levels.delete(name);
      level.close();
      if (!level.shape.isExempt) this.#options.closeSlot(name);
    }
  }

  /** Hears of seats that other fronts give back, while requests wait here. */
  #listen(): void {
    if (this.#isListening || this.#isClosed) return;
    const { words, front } = this.#options;
    this.#isListening = true;
    const rung = words.waitForRing(front, words.bell(front)) ?? Promise.resolve();
    void rung.then(() => {
      this.#isListening = false;
      if (this.#isClosed) return;
      const waiting = [...this.#levels.values()].filter((level) => level.waiting > 0);
      // Before it looks: a ring meanwhile is not missed.
      if (waiting.length > 0) this.#listen();
      for (const level of waiting) level.pump();
    });
  }
}

function distinguisherOf({ distinguisher }: CompiledSchema, user: User, asked: Question): string {
  if (distinguisher === "ByUser") return user.name;
  return distinguisher === "ByNamespace" ? asked.namespace : "";
}

function sharesOf({ type, limited }: PriorityLevelConfiguration["spec"]): number {
  return type === "Exempt" ? 0 : (limited?.assuredConcurrencyShares ?? 0);
}

function shapeOf({ name, uid, spec }: LevelSource, total: number, sum: number): LevelShape {
  const queuing = spec.limited?.limitResponse.type === "Queue" ? spec.limited.limitResponse.queuing : undefined;
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing ?? {};
  const seats = sum === 0 ? 1 : Math.max(1, Math.ceil((total * sharesOf(spec)) / sum));
  return { name, uid, isExempt: spec.type === "Exempt", seats, queues, handSize, lengthMax: queueLengthLimit };
}
