// Flow control as a front opens it: its part of the shared seats, its meter, and dumps of all fronts by way of main.
import type { Scheme } from "../../api/scheme.ts";
import { systemClock } from "../../base/clock.ts";
import type { Objects } from "../../cache/view/objects.ts";
import { dumpLevels, dumpNames, dumpText, type LevelDump } from "../../flowcontrol/dump.ts";
import { FlowControl } from "../../flowcontrol/flowcontrol.ts";
import { SeatWords } from "../../flowcontrol/seats.ts";
import { Widths } from "../../flowcontrol/width.ts";
import { flowMeter } from "../../observe/flowcontrol.ts";
import type { Registry } from "../../observe/metrics.ts";
import type { FlowParts } from "../../request/call/context.ts";
import type { FromFront, FrontData, ToFront } from "../messages.ts";
import { frontNumber } from "./board.ts";

/** What main tells a front of flow control. */
export type FlowMessage = Extract<ToFront, { readonly kind: "slot" | "dump" | "dumps" }>;

/** Part of the time of a request that it waits for seats at most (upstream: a quarter). */
const waitingPart = 1 / 4;

/** Opens it; undefined: it is switched off, there is no limit, or no client is served here. */
export function openFlow(
  data: FrontData,
  registry: Registry,
  scheme: Scheme,
  objects: Objects,
  tell: (message: FromFront) => void,
): FrontFlow | undefined {
  const { requestsInflightMax, mutatingInflightMax, fairness } = data.config;
  const front = frontNumber(data.name);
  if (!fairness || front === undefined || requestsInflightMax + mutatingInflightMax === 0) return undefined;
  return new FrontFlow(data, front, { registry, scheme, objects, tell });
}

interface FrontFlowOptions {
  readonly registry: Registry;
  readonly scheme: Scheme;
  readonly objects: Objects;
  readonly tell: (message: FromFront) => void;
}

/** Flow control of this front. */
export class FrontFlow {
  readonly parts: FlowParts;
  readonly #control: FlowControl;
  readonly #tell: (message: FromFront) => void;
  readonly #dumps = new Map<number, (dumps: readonly (readonly LevelDump[])[]) => void>();
  #lastDump = 0;

  constructor({ config, seats, holder }: FrontData, front: number, options: FrontFlowOptions) {
    const { registry, scheme, objects, tell } = options;
    this.#tell = tell;
    this.#control = new FlowControl({
      scheme,
      objects,
      clock: systemClock,
      seats: config.requestsInflightMax + config.mutatingInflightMax,
      readOnlyMax: config.requestsInflightMax,
      mutatingMax: config.mutatingInflightMax,
      waitMsMax: config.requestTimeoutMs * waitingPart,
      secret: holder,
      words: new SeatWords(seats, config.frontWorkers),
      front,
      meter: (levels, kinds) => flowMeter(registry, levels, kinds),
      openSlot: (level) => tell({ kind: "slot", level, opens: true }),
      closeSlot: (level) => tell({ kind: "slot", level, opens: false }),
    });
    this.#control.start();
    this.parts = {
      control: this.#control,
      widths: new Widths(),
      fronts: config.frontWorkers,
      headers: {
        schema: scheme.identity.spell("X-Kubernetes-PF-FlowSchema-UID"),
        level: scheme.identity.spell("X-Kubernetes-PF-PriorityLevel-UID"),
      },
      dump: (name, withDetails) => this.#dump(name, withDetails),
    };
  }

  /** Takes what main tells. */
  told(message: FlowMessage): void {
    switch (message.kind) {
      case "slot":
        return this.#control.slotted(message.level, message.slot);
      case "dump":
        return this.#tell({ kind: "dumped", id: message.id, levels: dumpLevels(this.#control, systemClock) });
      case "dumps":
        this.#dumps.get(message.id)?.(message.dumps);
        this.#dumps.delete(message.id);
    }
  }

  close(): void {
    this.#control.close();
  }

  async #dump(asked: string, withDetails: boolean): Promise<string | undefined> {
    const name = dumpNames.find((one) => one === asked);
    if (name === undefined) return undefined;
    const id = ++this.#lastDump;
    const dumps = await new Promise<readonly (readonly LevelDump[])[]>((resolve) => {
      this.#dumps.set(id, resolve);
      this.#tell({ kind: "dumps", id });
    });
    return dumpText(name, dumps, withDetails);
  }
}
