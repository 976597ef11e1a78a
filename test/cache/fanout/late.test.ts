// Which watchers are shown as late.
import t from "tap";
import { lateWatchers } from "../../../src/cache/fanout/late.ts";
import { type Watcher, watcherStates } from "../../../src/cache/fanout/watcher.ts";
import type { LogView } from "../../../src/cache/view/view.ts";

const view = { prefix: "/registry/pods", head: 100 } as LogView;

function watcher(user: string, fields: Partial<Watcher>): Watcher {
  const made = { user, state: watcherStates.lagging, blocked: false, position: 0, blockedAt: 0, ...fields };
  return made as Watcher;
}

t.test("lateWatchers() names the worst first, and few of many", (t) => {
  const many = Array.from({ length: 500 }, (_, at) => watcher(`u${at}`, { position: 100 - (at % 50) }));
  const all = [
    ...many,
    watcher("stuck", { blocked: true, blockedAt: 1000, position: 90 }),
    watcher("waits", { state: watcherStates.waiting }),
  ];
  const late = lateWatchers([{ view, behind: () => all }], 5000, 3);
  t.same(late[0], { user: "stuck", prefix: view.prefix, state: "blocked", behind: 10, blockedMs: 4000 });
  t.same(
    late.slice(1).map(({ behind, state }) => [behind, state]),
    [
      [49, "lagging"],
      [49, "lagging"],
    ],
  );
  t.end();
});
