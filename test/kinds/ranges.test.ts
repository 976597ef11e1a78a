import t from "tap";
import { parseAddress } from "../../src/kinds/address.ts";
import { addressAt, addressCount, addressText, canonicalAddress, holds, parseRanges } from "../../src/kinds/ranges.ts";

t.test("parseRanges() reads what upstream reads and says what is wrong", (t) => {
  const table: [addresses: string, ports: string, wrong: string | undefined][] = [
    ["10.0.0.0/24", "30000-32767", undefined],
    ["10.96.0.0/12,fd00::/108", "30000+100", undefined],
    ["10.0.0.0/11", "1-2", "too large"],
    ["fd00::/64", "1-2", "too large"],
    ["10.0.0.0/30", "1-2", "at least 8"],
    ["10.0.0.0/24,10.1.0.0/24", "1-2", "one range of each family"],
    ["", "1-2", "not a range of addresses"],
    ["10.0.0.0/24", "", "not a range of ports"],
    ["10.0.0.0/24", "2-1", "not a range of ports"],
    ["10.0.0.0/24", "1-70000", "not a range of ports"],
  ];
  for (const [addresses, ports, wrong] of table) {
    const found = parseRanges(addresses, ports);
    if (wrong === undefined) t.type(found, "object", addresses);
    else t.match(found, wrong, `${addresses} ${ports}`);
  }
  t.end();
});

t.test("addressAt() counts through a range and holds() knows its ends", (t) => {
  const found = parseRanges("10.0.0.0/22,fd00::/120", "1-2");
  if (typeof found === "string") throw new Error(found);
  const [four, six] = found.addresses;
  if (four === undefined || six === undefined) throw new Error("Two ranges were given");
  t.equal(addressCount(four), 1022);
  t.equal(addressText(addressAt(four, 0)), "10.0.0.1");
  t.equal(addressText(addressAt(four, 255)), "10.0.1.0");
  t.equal(addressText(addressAt(four, 1021)), "10.0.3.254");
  t.equal(addressText(addressAt(six, 254)), "fd00::ff");
  const inside: [string, boolean][] = [
    ["10.0.0.0", false],
    ["10.0.0.1", true],
    ["10.0.3.254", true],
    ["10.0.3.255", false],
    ["10.0.4.1", false],
    ["fd00::", false],
  ];
  for (const [text, want] of inside) {
    const address = parseAddress(text);
    if (address === undefined) throw new Error(text);
    t.equal(holds(four, address), want, text);
  }
  t.end();
});

t.test("canonicalAddress() has one text for one address", (t) => {
  const table = [
    ["010.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["FD00:0:0:0:1:0:0:1", "fd00::1:0:0:1"],
    ["::", "::"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["1::", "1::"],
    ["1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"],
    ["10:0:0:0:0:0:0:100", "10::100"],
  ] as const;
  for (const [text, want] of table) t.equal(canonicalAddress(text), want);
  t.equal(canonicalAddress("nonsense"), undefined);
  t.end();
});
