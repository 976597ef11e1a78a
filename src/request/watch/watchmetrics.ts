// The watch figures of a front: upstream's names where it has one, ours for what it does not measure.
import type { Scheme } from "../../api/scheme.ts";
import { sizeBuckets } from "../../cache/fanout/counts.ts";
import type { Fanout } from "../../cache/fanout/fanout.ts";
import type { Family, Registry } from "../../observe/metrics.ts";

/** Registers the watch metrics of one front; they are read from the fan-out's counts at each scrape. */
export function registerWatchMetrics(registry: Registry, fanout: Fanout, scheme: Scheme): void {
  const kind = ["group", "version", "kind"];
  const registered = registry.gauge("apiserver_registered_watchers", "Open watches by kind.", ...kind);
  registered.deprecatedIn = 23;
  const events = registry.counter("apiserver_watch_events_total", "Events sent to watchers, by kind.", ...kind);
  const sizes = registry.histogram(
    "apiserver_watch_events_sizes",
    "Bytes of the objects in events sent to watchers, by kind.",
    sizeBuckets,
    ...kind,
  );
  const initial = registry.counter("apiserver_init_events_total", "Synthetic ADDED events sent.", "resource");
  const cut = registry.counter(
    "apiserver_terminated_watchers_total",
    "Watchers cut off because they took nothing or lagged too far.",
    "resource",
  );
  const groups = registry.gauge("orch_watch_groups", "Groups of watchers that share their slices.", "resource");
  const bytes = registry.counter("orch_watch_bytes_total", "Bytes sent to watchers.", "resource");
  const bookmarks = registry.counter("orch_watch_bookmarks_total", "Bookmarks sent.", "resource");
  const expired = registry.counter("orch_watch_expired_total", "Watches ended with 410.", "resource");
  const behind = registry.gauge(
    "orch_watch_behind",
    "Watchers that are not in step: reading their initial state, catching up, or taking nothing.",
    "resource",
  );
  const all = [registered, events, sizes, initial, cut, groups, bytes, bookmarks, expired, behind];
  registry.onCollect(() => {
    // What is served changes, and what is no more served has no figures.
    for (const family of all) family.clear();
    const names = prefixLabels(scheme);
    for (const [prefix, counts] of fanout.counts()) {
      const labels = names.get(prefix);
      if (labels === undefined) continue;
      registered.set(labels.kind, counts.watchers);
      events.set(labels.kind, counts.events);
      sizes.fill(labels.kind, counts.sizes, counts.sizeBytes);
      const byResource: readonly (readonly [Family, number])[] = [
        [initial, counts.initEvents],
        [cut, counts.terminated],
        [groups, counts.groups],
        [bytes, counts.bytes],
        [bookmarks, counts.bookmarks],
        [expired, counts.expired],
        [behind, counts.behind],
      ];
      for (const [family, value] of byResource) family.set(labels.resource, value);
    }
  });
}

/** What the log of a prefix is called in labels: group, version and kind as stored, and `resource.group`. */
export function prefixLabels(
  scheme: Scheme,
): ReadonlyMap<string, { readonly kind: string; readonly resource: string }> {
  const names = new Map<string, { kind: string; resource: string }>();
  for (const { prefix, stored } of scheme.resources) {
    if (prefix === undefined || stored === undefined) continue;
    const { group, version, kind, resource } = stored;
    names.set(prefix, {
      kind: [group, version, kind].join("\0"),
      resource: group === "" ? resource : `${resource}.${group}`,
    });
  }
  return names;
}
