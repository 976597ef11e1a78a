import t from "tap";
import { Beats, beatsMemory } from "../../src/boot/beats.ts";
import { limits } from "../../src/config/limits.ts";

t.test("hung() names a front that runs and does not turn, and none that ended", (t) => {
  const memory = beatsMemory();
  let now = 1;
  const [one, other] = [new Beats(memory, () => now), new Beats(memory, () => now)];
  t.equal(one.hung(), undefined, "none runs");
  one.beat("front-0");
  other.beat("front-63");
  other.beat("controllers");
  now += limits.frontHungSeconds;
  t.equal(one.hung(), undefined);
  one.beat("front-0");
  other.beat("controllers");
  now += 1;
  t.equal(one.hung(), `front-63 has not turned for ${limits.frontHungSeconds + 1} s`);
  other.clear("front-63");
  t.equal(one.hung(), undefined);
  now += limits.frontHungSeconds;
  one.beat("front-0");
  t.match(one.hung(), /^controllers has not turned/);
  t.end();
});
