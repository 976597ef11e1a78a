// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** events/v1.Event. */
export interface Event {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  eventTime?: string | undefined;
  series?: EventSeries | undefined;
  reportingController?: string | undefined;
  reportingInstance?: string | undefined;
  action?: string | undefined;
  reason?: string | undefined;
  regarding: core_v1.ObjectReference;
  related?: core_v1.ObjectReference | undefined;
  note?: string | undefined;
  type?: string | undefined;
  deprecatedSource: core_v1.EventSource;
  deprecatedFirstTimestamp?: string | undefined;
  deprecatedLastTimestamp?: string | undefined;
  deprecatedCount?: number | undefined;
}

/** events/v1.EventList. */
export interface EventList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Event[] | undefined;
}

/** events/v1.EventSeries. */
export interface EventSeries {
  count: number;
  lastObservedTime?: string | undefined;
}
