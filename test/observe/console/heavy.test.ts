// The sketch of the heaviest clients: bounded, and no heavy one is missed.
import t from "tap";
import { HeavyClients } from "../../../src/observe/console/heavy.ts";

t.test("HeavyClients.top() names a heavy client among thousands of light ones", (t) => {
  const heavy = new HeavyClients(() => 1000);
  for (let i = 0; i < 10_000; i++) {
    heavy.add(`user-${i}`);
    if (i % 4 === 0) heavy.add("abuser", 3);
  }
  const { clients } = heavy.top(5);
  t.equal(clients[0]?.user, "abuser");
  t.ok((clients[0]?.count ?? 0) >= 7000, "most of what it used is certain");
  t.equal(clients.length, 5);
  t.ok(heavy.top(1000).clients.length <= 128, "two generations of 64");
  t.end();
});

t.test("HeavyClients.top() forgets what was long ago, and says how long counts are", (t) => {
  let now = 0;
  const heavy = new HeavyClients(() => now);
  heavy.add("early", 100);
  now = 10_000;
  t.same(heavy.top(5), { seconds: 10, clients: [{ user: "early", count: 100 }] });
  now = 31_000;
  heavy.add("late");
  t.equal(heavy.top(5).seconds, 31);
  t.same(
    heavy.top(5).clients.map(({ user }) => user),
    ["early", "late"],
  );
  now = 62_000;
  t.same(heavy.top(5).clients, [{ user: "late", count: 1 }]);
  now = 500_000;
  t.same(heavy.top(5).clients, []);
  heavy.add("x".repeat(10_000));
  t.equal(heavy.top(1).clients[0]?.user.length, 128, "names are cut");
  t.end();
});
