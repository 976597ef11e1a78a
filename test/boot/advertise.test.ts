// Where others reach the server: what a flag says, else what it listens on, as far as that is an address for others.
import t from "tap";
import { advertisedAddress, servingAddresses } from "../../src/boot/advertise.ts";
import type { Config } from "../../src/config/config.ts";
import { isReachable } from "../../src/kinds/address.ts";

const ranges = { serviceAddressRanges: "10.0.0.0/24", servicePortRange: "30000-32767" };
const config = (bindAddress: string, advertiseAddress = ""): Config =>
  ({ bindAddress, advertiseAddress, ...ranges }) as Config;

t.test("advertisedAddress() is the flag, the address listened on, or the host's first", async (t) => {
  const own = ["fd00::1", "192.168.1.2", "10.1.1.1"];
  for (const [bind, flag, expected] of [
    ["127.0.0.1", "", undefined],
    ["::1", "", undefined],
    ["169.254.1.1", "", undefined],
    ["10.2.3.4", "", "10.2.3.4"],
    ["127.0.0.1", "10.2.3.4", "10.2.3.4"],
    ["0.0.0.0", "", "192.168.1.2"],
    ["::", "", "fd00::1"],
    ["0.0.0.0", "10.2.3.4", "10.2.3.4"],
  ] as const) {
    t.equal(advertisedAddress(config(bind, flag), own), expected, `${bind} ${flag}`);
  }
  t.equal(advertisedAddress(config("0.0.0.0"), []), undefined);
});

t.test("servingAddresses() has all of them and that of the server's service, and none that is nowhere", async (t) => {
  t.same(servingAddresses(config("127.0.0.1")), ["127.0.0.1", "10.0.0.1"]);
  t.same(servingAddresses(config("10.2.3.4", "10.2.3.5")), ["10.2.3.4", "10.2.3.5", "10.0.0.1"]);
  t.notOk(servingAddresses(config("0.0.0.0")).includes("0.0.0.0"));
  t.notOk(isReachable("0.0.0.0") || isReachable("::1") || isReachable("x") || isReachable("::ffff:127.0.0.1"));
});
