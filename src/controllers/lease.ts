// Which of several servers runs the controllers: the one that holds a Lease, renews it in time and gives it back when it
// ends. Times and rules are those of upstream's leader election; only what is seen to stand still is taken away, so
// that clocks need not agree.
import type { Lease as LeaseObject } from "../api/gen/coordination/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { isStatus, refuse, type Status } from "../api/status.ts";
import { formatMicroTime } from "../api/time.ts";
import type { Value } from "../api/value.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices, Written } from "../request/commit/writerequest.ts";
import { Actor, type Target } from "./actor.ts";
import { type Controller, type Pace, type Queue, Reconciler, type ReconcilerParts, type Result } from "./reconciler.ts";
import { type Recorder, referenceTo } from "./recording/eventwriter.ts";

/** Milliseconds. */
export interface LeaseTimes {
  /** How long a lease stands after it was renewed, as others see it. */
  readonly durationMs: number;
  /** Who did not renew for so long gives up. */
  readonly renewMsMax: number;
  /** Between two tries, to renew as to take. */
  readonly retryMs: number;
}

/** What a lease is held by, and for what. */
export interface LeaseOptions {
  readonly name: string;
  /** Names this process and no other, ever. */
  readonly holder: string;
  /**
   * No other process writes to the store, as its engine makes sure: whoever holds the lease at the start is dead, and
   * no other server works while this one cannot write.
   */
  readonly alone: boolean;
  readonly onHeld: () => void;
  /** Resolves when nothing of what was held by it is under way. A lease that is given back waits for that. */
  readonly onLost: () => Promise<void>;
  /** Tells of who holds it. */
  readonly record: Recorder;
  readonly times?: LeaseTimes;
}

const referenceTimes: LeaseTimes = {
  durationMs: limits.leaseMs,
  renewMsMax: limits.leaseRenewMsMax,
  retryMs: limits.leaseRetryMs,
};

/** Another server holds it. No client gets this. */
const taken = refuse("Conflict", "Another server holds the lease");

/** What it works on: the one lease. */
const leaseKey = "lease";

/** Held between onHeld and onLost, from start() on; both are called any number of times, in turns. */
export class Lease implements Controller {
  readonly pace: Pace;
  readonly #writers: WriteServices;
  readonly #options: LeaseOptions;
  readonly #times: LeaseTimes;
  readonly #actor: Actor;
  /** Undefined: leases are not served. */
  readonly #target: Target | undefined;
  readonly #reconciler: Reconciler;
  #held = false;
  /** It was ours once: from then on, another holder is alive. */
  #wasOurs = false;
  /** What another holder last wrote, and when that was first seen; monotonic ms. */
  #seen = "";
  #seenAt = 0;
  #deadline: NodeJS.Timeout | undefined;
  #released: Promise<void> | undefined;
  /** As it was when it became ours. */
  #written: Written | undefined;

  constructor(writers: WriteServices, options: LeaseOptions, parts: ReconcilerParts) {
    const { identity } = writers.scheme;
    const resource = writers.scheme.find(identity.spell("coordination.k8s.io"), "v1", "leases");
    this.#writers = writers;
    this.#options = options;
    this.#times = options.times ?? referenceTimes;
    this.#actor = new Actor(writers, "kube-apiserver");
    this.#target = resource && { resource, namespace: identity.spell("kube-system"), name: options.name };
    // A renewal that failed is tried again like one that is due.
    this.pace = { retryMsMin: this.#times.retryMs, retryMsMax: this.#times.retryMs };
    this.#reconciler = new Reconciler("lease", this, parts);
  }

  /** Tries to take it now, and from then on takes and renews it. */
  start(): void {
    if (this.#target !== undefined) this.#reconciler.start();
    else if (!this.#reconciler.signal.aborted) this.#hold(this.#now());
  }

  all(queue: Queue): void {
    queue.add(leaseKey);
  }

  async work(): Promise<Result> {
    const { alone, name } = this.#options;
    const began = this.#now();
    const done = await this.#write();
    if (this.#reconciler.signal.aborted) return undefined;
    const again = { againMs: this.#times.retryMs };
    if (!isStatus(done)) {
      this.#wasOurs = true;
      this.#hold(began, done);
      return again;
    }
    if (done === taken) {
      void this.#lose();
      return again;
    }
    if (alone) this.#hold(began);
    // Another server was faster.
    return done.reason === "AlreadyExists" ? again : { cause: done, message: `Lease ${name} cannot be written` };
  }

  /** Loses it and gives it back, so that no server has to wait for its end. Resolves when that is written or cannot be. */
  stop(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    const held = this.#held;
    await Promise.all([this.#reconciler.stop(), this.#lose()]);
    if (!held || this.#target === undefined) return;
    await this.#actor.update<ApiObject & LeaseObject>(this.#target, ({ spec }) => {
      if (spec.holderIdentity !== this.#options.holder) return taken;
      const now = formatMicroTime(this.#writers.clock.now());
      Object.assign(spec, { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now });
      return undefined;
    });
  }

  async #write(): Promise<Written | Status> {
    const target = this.#target as Target;
    const done = await this.#actor.update<ApiObject & LeaseObject>(target, (lease) => this.#claim(lease));
    if (!isStatus(done) || done.reason !== "NotFound") return done;
    const now = formatMicroTime(this.#writers.clock.now());
    const spec = new Map<string, Value>([
      ["holderIdentity", this.#options.holder],
      ["leaseDurationSeconds", this.#seconds],
      ["acquireTime", now],
      ["renewTime", now],
      ["leaseTransitions", 0],
    ]);
    const metadata = new Map([["name", target.name]]);
    return this.#actor.create(
      target,
      new Map<string, Value>([
        ["metadata", metadata],
        ["spec", spec],
      ]),
    );
  }

  /** Makes it ours, or says that it is not to be had. */
  #claim(lease: LeaseObject): Status | undefined {
    const { holder } = this.#options;
    lease.spec ??= {};
    const { spec } = lease;
    const { holderIdentity: other = "", leaseTransitions = 0 } = spec;
    if (this.#reconciler.signal.aborted) return taken;
    if (other !== "" && other !== holder && !this.#isOver(lease)) return taken;
    spec.renewTime = formatMicroTime(this.#writers.clock.now());
    spec.leaseDurationSeconds = this.#seconds;
    if (other === holder) return undefined;
    spec.holderIdentity = holder;
    spec.acquireTime = spec.renewTime;
    spec.leaseTransitions = leaseTransitions + 1;
    return undefined;
  }

  /** Whether another holder has let its time go by, since we first saw what it last wrote. */
  #isOver({ spec: { holderIdentity, acquireTime, renewTime } }: LeaseObject): boolean {
    if (this.#options.alone && !this.#wasOurs) return true;
    const seen = `${holderIdentity} ${acquireTime} ${renewTime}`;
    if (seen !== this.#seen) {
      this.#seen = seen;
      this.#seenAt = this.#now();
    }
    return this.#now() - this.#seenAt >= this.#times.durationMs;
  }

  /** Held since `began`, when the write that says so had not begun. */
  #hold(began: number, written?: Written): void {
    clearTimeout(this.#deadline);
    const { alone, name, onHeld } = this.#options;
    if (!alone) {
      const late = (): void => {
        this.#reconciler.report("", `Lease ${name} was not renewed in time`, taken);
        void this.#lose();
      };
      this.#deadline = setTimeout(late, Math.max(0, began + this.#times.renewMsMax - this.#now())).unref();
    }
    if (this.#held) return;
    this.#held = true;
    this.#written = written;
    onHeld();
    this.#tell("became leader");
  }

  /** As onLost(). */
  #lose(): Promise<void> {
    clearTimeout(this.#deadline);
    if (!this.#held) return Promise.resolve();
    this.#held = false;
    const ended = this.#options.onLost();
    this.#tell("stopped leading");
    return ended;
  }

  #tell(what: string): void {
    if (this.#target === undefined) return;
    const { resource, namespace, name } = this.#target;
    const metadata = this.#written === undefined ? {} : JSON.parse(Buffer.from(this.#written.body).toString()).metadata;
    const about = referenceTo(resource, { metadata: { ...metadata, namespace, name } });
    this.#options.record(about, "Normal", "LeaderElection", `${this.#options.holder} ${what}`);
  }

  get #seconds(): number {
    return Math.max(1, Math.round(this.#times.durationMs / 1000));
  }

  #now(): number {
    return this.#writers.clock.monotonic();
  }
}
