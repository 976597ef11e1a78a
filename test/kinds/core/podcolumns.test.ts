import t from "tap";
import { columnsOf } from "../../../src/kinds/table.ts";
import { cellsOf, created, identity, resourceOf } from "../cells.ts";

const running = { state: { running: {} }, ready: true, restartCount: 0, name: "c", image: "", imageID: "" };

/** A container's status, running but for what is given. */
function container(change: object): object {
  return { ...running, ...change };
}

t.test("pods show what keeps them from running", (t) => {
  const spec = { containers: [{ name: "a" }, { name: "b" }], initContainers: [{ name: "i" }, { name: "j" }] };
  const done = container({ state: { terminated: { exitCode: 0 } }, restartCount: 1 });
  const crashed = { terminated: { exitCode: 1, finishedAt: "2024-01-01T23:55:00Z" } };
  const rows: [title: string, status: object, ready: string, text: string, restarts: string][] = [
    ["new", { phase: "Pending" }, "0/2", "Pending", "0"],
    ["evicted", { phase: "Failed", reason: "Evicted" }, "0/2", "Evicted", "0"],
    ["running", { phase: "Running", containerStatuses: [running, running] }, "2/2", "Running", "0"],
    [
      "crash loop",
      {
        phase: "Running",
        containerStatuses: [
          container({
            ready: false,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: crashed,
            restartCount: 3,
          }),
          running,
        ],
      },
      "1/2",
      "CrashLoopBackOff",
      "3 (5m ago)",
    ],
    [
      "first init",
      { phase: "Pending", initContainerStatuses: [container({ ready: false, restartCount: 2 })] },
      "0/2",
      "Init:0/2",
      "2",
    ],
    [
      "second init fails",
      {
        phase: "Pending",
        initContainerStatuses: [done, container({ state: { terminated: { exitCode: 7, signal: 9 } } })],
      },
      "0/2",
      "Init:Signal:9",
      "1",
    ],
    [
      "init done",
      { phase: "Running", initContainerStatuses: [done], containerStatuses: [running] },
      "1/2",
      "Running",
      "0",
    ],
    [
      "exit code",
      { phase: "Failed", containerStatuses: [container({ state: { terminated: { exitCode: 4 } } })] },
      "0/2",
      "ExitCode:4",
      "0",
    ],
    [
      "one completed",
      {
        phase: "Running",
        containerStatuses: [container({ state: { terminated: { exitCode: 0, reason: "Completed" } } }), running],
      },
      "1/2",
      "NotReady",
      "0",
    ],
  ];
  for (const [title, status, ready, text, restarts] of rows) {
    t.match(cellsOf("", "pods", { spec, status }), { Ready: ready, Status: text, Restarts: restarts }, title);
  }
  const metadata = { name: "p", deletionTimestamp: created };
  t.match(cellsOf("", "pods", { metadata, spec, status: { phase: "Running" } }), { Status: "Terminating" });
  t.match(cellsOf("", "pods", { metadata, spec, status: { reason: "NodeLost" } }), { Status: "Unknown" });
  t.end();
});

t.test("pods that are over carry a condition", (t) => {
  const { conditions } = columnsOf(resourceOf("", "pods"), identity);
  for (const [phase, count] of [
    ["Succeeded", 1],
    ["Failed", 1],
    ["Running", 0],
  ] as const) {
    t.equal(conditions?.({ metadata: {}, status: { phase } } as never).length, count, phase);
  }
  t.end();
});
