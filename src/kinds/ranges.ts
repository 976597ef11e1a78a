// The addresses and ports services get: the ranges an operator gave, what lies in them, and in which order a free one
// is looked for. Pure; who has what is in the store (request/serviceallocations.ts).
import { type Address, type Cidr, contains, isIpv4, parseAddress, parseCidr } from "./address.ts";

/** Family of an address, as services spell it. */
export type Family = "IPv4" | "IPv6";

/** What services are given from. */
export interface ServiceRanges {
  /** One range, or one of each family; the first is the cluster's own family. */
  readonly addresses: readonly Cidr[];
  /** Both inclusive. */
  readonly ports: { readonly first: number; readonly last: number };
}

/** Bits of a range's addresses that may vary (upstream: 20). */
const hostBitsMax = 20;
/** And at least 8 addresses. */
const hostBitsMin = 3;

/** Reads `--service-cluster-ip-range` and `--service-node-port-range`; a text says what is wrong. */
export function parseRanges(addresses: string, ports: string): ServiceRanges | string {
  const found: Cidr[] = [];
  for (const text of addresses.split(",")) {
    const range = parseCidr(text.trim());
    if (range === undefined) return `--service-cluster-ip-range: not a range of addresses: ${JSON.stringify(text)}`;
    const hostBits = (range.family === "IPv4" ? 32 : 128) - range.bits;
    if (hostBits > hostBitsMax) return `--service-cluster-ip-range: ${text} is too large, at most 2^${hostBitsMax}`;
    if (hostBits < hostBitsMin) return `--service-cluster-ip-range: ${text} must hold at least 8 addresses`;
    if (found.some(({ family }) => family === range.family)) {
      return "--service-cluster-ip-range takes one range of each family";
    }
    found.push(range);
  }
  const match = /^(\d{1,5})(-|\+)(\d{1,5})$/.exec(ports.trim());
  const first = Number(match?.[1]);
  const last = match?.[2] === "+" ? first + Number(match[3]) : Number(match?.[3]);
  if (match === null || first < 1 || last < first || last > 65_535) {
    return `--service-node-port-range: not a range of ports: ${JSON.stringify(ports)}`;
  }
  return { addresses: found, ports: { first, last } };
}

/** Default ranges (upstream). */
export const defaultRanges = { addresses: "10.0.0.0/24", ports: "30000-32767" };

/** The range of a family; undefined when the cluster has none. */
export function rangeOf(ranges: ServiceRanges, family: string): Cidr | undefined {
  return ranges.addresses.find((range) => range.family === family);
}

/** `10.0.0.0/24`. */
export function rangeText({ network, bits }: Cidr): string {
  return `${addressText(network)}/${bits}`;
}

/** How many addresses of a range may be given out: not the network's own, and not the broadcast address of IPv4. */
export function addressCount({ bits, family }: Cidr): number {
  return family === "IPv4" ? 2 ** (32 - bits) - 2 : 2 ** (128 - bits) - 1;
}

/** The address `index` places (from 0) after the first that may be given out. */
export function addressAt({ network }: Cidr, index: number): Address {
  const address = network.slice();
  let carry = index + 1;
  for (let at = 15; carry > 0; at--) {
    const sum = (address[at] ?? 0) + carry;
    address[at] = sum & 0xff;
    carry = Math.floor(sum / 256);
  }
  return address;
}

/** Whether a range may give out this address. */
export function holds(range: Cidr, address: Address): boolean {
  if (!contains(range, address)) return false;
  if (addressText(address) === addressText(range.network)) return false;
  return range.family === "IPv6" || addressText(address) !== addressText(addressAt(range, addressCount(range)));
}

/** One text for an address however it was written (RFC 5952); undefined when it is none. */
export function canonicalAddress(text: string): string | undefined {
  const address = parseAddress(text);
  return address === undefined ? undefined : addressText(address);
}

/** An address as text: IPv4 dotted, IPv6 with its longest run of zeros shortened. */
export function addressText(address: Address): string {
  if (isIpv4(address)) return address.subarray(12).join(".");
  const groups: string[] = [];
  for (let at = 0; at < 16; at += 2) groups.push((((address[at] ?? 0) << 8) | (address[at + 1] ?? 0)).toString(16));
  const text = groups.join(":");
  let [at, longest] = [0, ""];
  for (const run of text.matchAll(/\b0(?::0\b)+/g)) {
    if (run[0].length > longest.length) [at, longest] = [run.index, run[0]];
  }
  if (longest === "") return text;
  return `${text.slice(0, at).replace(/:$/, "")}::${text.slice(at + longest.length).replace(/^:/, "")}`;
}
