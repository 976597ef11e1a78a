import t from "tap";
import { assert } from "../../src/base/assert.ts";
import {
  contains,
  isIpv4,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseAddress,
  parseCidr,
} from "../../src/kinds/address.ts";

t.test("parseAddress() reads what upstream reads and nothing else", (t) => {
  for (const text of [
    "1.2.3.4",
    "010.0.0.1",
    "::",
    "::1",
    "2001:db8::ffff",
    "1:2:3:4:5:6:7:8",
    "::ffff:1.2.3.4",
    "1::",
  ]) {
    t.ok(parseAddress(text), text);
  }
  for (const text of [
    "",
    "1.2.3",
    "1.2.3.256",
    "1.2.3.4 ",
    "1.2.3.-4",
    "1.2.3.4.5",
    "1..2.3",
    "1.2.3.",
    ".1.2.3",
    "1.2.3.1e1",
    ":::",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7::8",
    "fe80::1%eth0",
    "g::",
    "12345::",
    "1.2.3.4::",
    "::1.2.3.4:5",
    "x".repeat(1000),
  ]) {
    t.equal(parseAddress(text), undefined, text);
  }
  t.end();
});

t.test("parseCidr() masks the network and counts bits in the family written", (t) => {
  const cidr = parseCidr("10.1.2.3/16");
  assert(cidr !== undefined, "10.1.2.3/16 is a CIDR");
  t.strictSame([...cidr.network.subarray(12)], [10, 1, 0, 0]);
  t.equal(cidr.bits, 16);
  for (const text of ["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/x", "/8", "10.0.0.0/"])
    t.equal(parseCidr(text), undefined, text);
  for (let bits = 0; bits <= 128; bits += 1) {
    const { network } = parseCidr(`ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/${bits}`) ?? { network: [] };
    const text = [...network].map((byte) => byte.toString(2).padStart(8, "0")).join("");
    t.equal(text, "1".repeat(bits).padEnd(128, "0"));
  }
  for (let bits = 0; bits <= 32; bits += 1) {
    const { network } = parseCidr(`255.255.255.255/${bits}`) ?? { network: [] };
    const text = [...network.slice(12)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
    t.equal(text, "1".repeat(bits).padEnd(32, "0"));
  }
  const inside = parseAddress("10.1.255.1");
  const outside = parseAddress("10.2.0.1");
  const other = parseAddress("::1");
  assert(inside !== undefined && outside !== undefined && other !== undefined, "Addresses are well-formed");
  t.equal(contains(cidr, inside), true);
  t.equal(contains(cidr, outside), false);
  t.equal(contains(cidr, other), false);
  t.end();
});

t.test("Classes of addresses follow both families", (t) => {
  const cases: readonly [string, (a: Uint8Array) => boolean, boolean][] = [
    ["0.0.0.0", isUnspecified, true],
    ["::", isUnspecified, true],
    ["::1", isUnspecified, false],
    ["127.9.9.9", isLoopback, true],
    ["::1", isLoopback, true],
    ["128.0.0.1", isLoopback, false],
    ["169.254.1.1", isLinkLocalUnicast, true],
    ["fe80::1", isLinkLocalUnicast, true],
    ["fec0::1", isLinkLocalUnicast, false],
    ["224.0.0.9", isLinkLocalMulticast, true],
    ["ff02::1", isLinkLocalMulticast, true],
    ["224.0.1.1", isLinkLocalMulticast, false],
    ["::ffff:1.2.3.4", isIpv4, true],
    ["::1.2.3.4", isIpv4, false],
  ];
  for (const [text, test, expected] of cases) {
    const address = parseAddress(text);
    assert(address !== undefined, `${text} is an address`);
    t.equal(test(address), expected, `${test.name} ${text}`);
  }
  t.end();
});
