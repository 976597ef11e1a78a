import t from "tap";
import { Restarts } from "../../src/boot/restarts.ts";
import { limits } from "../../src/config/limits.ts";

t.test(
  "pauseMs() is nothing at first, doubles with each crash to its limit, and starts over after a steady run",
  (t) => {
    const restarts = new Restarts();
    let now = 0;
    const crash = (ranMs: number): number => {
      restarts.started("front-0", now);
      now += ranMs;
      return restarts.pauseMs("front-0", now);
    };
    const { frontPauseMsMin: min, frontPauseMsMax: max, frontSteadyMs: steady } = limits;
    t.same([crash(1), crash(1), crash(1), crash(1)], [0, min, 2 * min, 4 * min]);
    for (let crashes = 0; crashes < 100; crashes += 1) t.ok(crash(1) <= max);
    t.equal(crash(steady - 1), max);
    t.ok(restarts.isHopeless("front-0"));
    t.equal(crash(steady), 0);
    t.notOk(restarts.isHopeless("front-0"));
    t.equal(restarts.pauseMs("front-1", now), 0, "each thread for itself");
    t.notOk(restarts.isHopeless("front-2"));
    t.end();
  },
);
