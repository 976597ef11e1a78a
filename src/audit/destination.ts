// The destination of events, with truncation of events that are too large and counts of lost ones.

import type { Owner } from "../base/shares.ts";
import { parseOwn, writeValue } from "../codec/engine/json.ts";
import type { Family, Registry } from "../observe/metrics.ts";

/** A backend's last step. */
export interface Destination {
  /** In metrics, as on upstream: `log`, `webhook`. */
  readonly name: string;
  /**
   * Writes events in order: lines of JSON, every line ended. A text says why they could not be. Never throws, never
   * rejects.
   */
  write(lines: string): string | undefined | Promise<string | undefined>;
  /** No try is repeated from now on. */
  hurry(): void;
  close(): void;
}

/** Hands events to a destination. */
export interface Delivery {
  /**
   * Takes lines of JSON, every line ended, and the owner of each. True or false: dealt with, or not stored; later
   * where that takes a while.
   */
  take(lines: string, owners: readonly Owner[]): boolean | Promise<boolean>;
  /** Writes waiting events. */
  finish(): Promise<void>;
}

/** Called for lost events: they are counted, and logged at intervals. */
export interface Losses {
  lost(plugin: string, events: number, why: string): void;
}

/** How often a line about losses is logged at most, in milliseconds. */
const lineMs = 10_000;

/** Counts losses by upstream's plugin names: log, webhook, buffered, truncate. */
export function createLosses(registry: Registry, say: (line: object, text: string) => void): Losses {
  const errors = registry.counter("apiserver_audit_error_total", "Audit events that were lost, by plugin.", "plugin");
  let saidMs = Number.NEGATIVE_INFINITY;
  return {
    lost: (plugin, events, why) => {
      errors.add(plugin, events);
      const now = performance.now();
      if (now - saidMs < lineMs) return;
      saidMs = now;
      say({ plugin, events, why }, "Audit events were lost");
    },
  };
}

/** Counts events a front could not hand over. */
export function droppedFamily(registry: Registry): Family {
  const help = "Audit events dropped before they reached the writer, because it does not keep up.";
  return registry.counter("apiserver_audit_dropped_total", help);
}

/** Bytes of events and batches, where truncation is on. */
export interface Truncation {
  readonly eventBytesMax: number;
  readonly batchBytesMax: number;
}

/** The events of lines. */
export function eventsOf(lines: string): string[] {
  return lines === "" ? [] : lines.slice(0, -1).split("\n");
}

/** Lines of events. */
export function linesOf(events: readonly string[]): string {
  return events.length === 0 ? "" : `${events.join("\n")}\n`;
}

/** How many events lines are. */
export function countOf(lines: string): number {
  let count = 0;
  for (let at = lines.indexOf("\n"); at >= 0; at = lines.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Events that fit: without request and response where that helps; the others are lost. */
export function truncated(
  events: readonly string[],
  { eventBytesMax }: Truncation,
  annotation: string,
  losses: Losses,
): readonly string[] {
  const fits = (event: string): boolean => Buffer.byteLength(event) <= eventBytesMax;
  if (events.every(fits)) return events;
  return events.flatMap((event) => {
    if (fits(event)) return [event];
    const smaller = withoutBodies(event, annotation);
    if (fits(smaller)) return [smaller];
    losses.lost("truncate", 1, "event is too large even after truncating");
    return [];
  });
}

function withoutBodies(event: string, annotation: string): string {
  const value = parseOwn(event);
  if (!(value instanceof Map)) return event;
  const had = value.delete("requestObject");
  if (!value.delete("responseObject") && !had) return event;
  const annotations = value.get("annotations");
  // The last field of an event, as upstream writes it.
  value.delete("annotations");
  const marked = new Map(annotations instanceof Map ? annotations : []).set(annotation, "true");
  return writeValue(value.set("annotations", new Map([...marked].sort(([a], [b]) => (a < b ? -1 : 1)))));
}

/** Splits events so that the lines of no part have more than `bytesMax`, unless it is one event. */
export function parts(events: readonly string[], bytesMax: number): string[] {
  const found: string[] = [];
  let bytes = bytesMax;
  for (const event of events) {
    const size = Buffer.byteLength(event);
    const fits = bytes + size <= bytesMax && found.length > 0;
    if (fits) found.push(`${found.pop() ?? ""}${event}\n`);
    else found.push(`${event}\n`);
    bytes = fits ? bytes + size : size;
  }
  return found;
}
