// A fan-out in the hands of a test: time stands still until it is moved, and turns of the loop are taken by hand.
import {
  type FieldRequirement,
  type LabelRequirement,
  parseFieldSelector,
  parseLabelSelector,
  type Selector,
} from "../../src/api/selector.ts";
import type { Clock } from "../../src/base/clock.ts";
import { BookmarkText } from "../../src/cache/fanout/bookmark.ts";
import { Fanout } from "../../src/cache/fanout/fanout.ts";
import type { Ahead, Transform } from "../../src/cache/fanout/gather.ts";
import type { Representation } from "../../src/cache/fanout/group.ts";
import type { WatchStart } from "../../src/cache/fanout/watcher.ts";
import type { LogView } from "../../src/cache/view/view.ts";
import type { ListOptions } from "../../src/request/route/listoptions.ts";
import { FakeSink } from "./fakesink.ts";

/** What a test's watch asks for. */
export interface FakeWatch {
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
  readonly start?: WatchStart;
  readonly bookmarks?: boolean;
  readonly initialEnd?: boolean;
  readonly timeoutMs?: number;
  readonly accepts?: number;
  readonly transform?: Transform;
  /** Of a transform that may have to wait. */
  readonly ahead?: Ahead;
  readonly user?: string;
  /** Left out: that of the front. */
  readonly log?: LogView;
}

const before = '{"kind":"Thing","metadata":{"name":"","resourceVersion":"';
const bookmark = new BookmarkText(Buffer.from(`${before}"}}`), before.length);
const initialEnd = new BookmarkText(Buffer.from(`${before}","annotations":{"end":"true"}}}`), before.length);
/** Events as they are stored. */
export const storedForm: Representation = { key: "json", transform: undefined, bookmark };

/** One front over one log, a fake one or a real one. */
export class FakeFront {
  readonly log: LogView;
  readonly fanout: Fanout;
  /** Milliseconds. */
  time = 1_000_000;
  /** Told of faults that ended watches; a test that expects some replaces it. */
  failed: (error: unknown) => void = (error) => {
    throw error;
  };
  readonly #work: (() => void)[] = [];

  /** `lookMs`: how far each look at the clock moves it, and then a pass looks at it all the time. */
  constructor(log: LogView, lookMs = 0) {
    this.log = log;
    const look = (): number => {
      this.time += lookMs;
      return this.time;
    };
    const clock: Clock = { now: look, monotonic: look };
    const defer = (work: () => void): void => void this.#work.push(work);
    const failed = (error: unknown): void => this.failed(error);
    this.fanout = new Fanout({ clock, random: () => 0.5, defer, failed, ...(lookMs > 0 && { writesPerLook: 1 }) });
  }

  /** Opens a watch; by default of everything, from now on. */
  watch(wishes: FakeWatch = {}): FakeSink & { gone: () => void } {
    const sink = new FakeSink();
    if (wishes.accepts !== undefined) sink.accepts = wishes.accepts;
    const { transform, ahead } = wishes;
    const gone = this.fanout.watch({
      view: wishes.log ?? this.log,
      namespaced: true,
      namespace: wishes.namespace ?? "",
      selector: selectorOf(wishes.labels ?? "", wishes.fields ?? ""),
      representation:
        transform === undefined ? storedForm : { key: ahead ? "late" : "other", transform, ahead, bookmark },
      start: wishes.start ?? { from: "now" },
      bookmarks: wishes.bookmarks ?? false,
      initialEnd: wishes.initialEnd === true ? initialEnd : undefined,
      timeoutMs: wishes.timeoutMs,
      sink,
      ...(wishes.user !== undefined && { user: wishes.user }),
    });
    return Object.assign(sink, { gone });
  }

  /** Takes turns until nothing is left to do, at most `max`; returns how many there were. */
  run(max = 100_000): number {
    let turns = 0;
    for (; turns < max && this.#work.length > 0; turns += 1) for (const work of this.#work.splice(0)) work();
    return turns;
  }

  /** Moves time on in ticks. */
  pass(ms: number): void {
    for (const end = this.time + ms; this.time < end; ) {
      this.time += 100;
      this.fanout.tick();
      this.run();
    }
  }
}

/** Both selectors parsed; throws on what is malformed. */
export function selectorOf(labelText: string, fieldText: string): Selector {
  const labels = parseLabelSelector(labelText);
  const fields = parseFieldSelector(fieldText);
  if ("error" in labels) throw new Error(labels.error);
  if ("error" in fields) throw new Error(fields.error);
  return { labels: labels as readonly LabelRequirement[], fields: fields as readonly FieldRequirement[] };
}

/** The options of a watch whose query is empty. */
export const plainWatch: ListOptions = {
  labelSelector: "",
  fieldSelector: "",
  watch: true,
  allowWatchBookmarks: false,
  resourceVersion: "",
  resourceVersionMatch: "",
  limit: 0,
  continueToken: "",
  timeoutSeconds: undefined,
  sendInitialEvents: undefined,
};
