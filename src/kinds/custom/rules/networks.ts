// IP addresses and networks, as upstream's library has them: written as the standards want, IPv4 without leading zeros and
// not within IPv6, and without zones.
import {
  type Address,
  type Cidr,
  contains,
  isIpv4,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseAddress,
  parseCidr,
} from "../../address.ts";
import { addressText } from "../../ranges.ts";
import { type Overload, overload } from "./overloads.ts";
import { CidrValue, Fault, type Frame, IpValue, type Result, shortened } from "./values.ts";

function addressOf(frame: Frame, text: string): Address | undefined {
  frame.spend(30);
  const address = parseAddress(text);
  if (address === undefined || /(?:^|\.)0\d/.test(text)) return undefined;
  return text.includes(":") && isIpv4(address) ? undefined : address;
}

function networkOf(frame: Frame, text: string): Cidr | undefined {
  frame.spend(60);
  const [address = "", bits = ""] = text.slice(0, 64).split("/");
  if (/^0\d/.test(bits) || addressOf(frame, address) === undefined) return undefined;
  return parseCidr(text);
}

function ipOf(frame: Frame, text: string): IpValue | Fault {
  const address = addressOf(frame, text);
  if (address !== undefined) return new IpValue(address);
  return new Fault(`IP Address "${shortened(text)}" parse error during conversion from string`);
}

function cidrOf(frame: Frame, text: string): CidrValue | Fault {
  const cidr = networkOf(frame, text);
  if (cidr !== undefined) return new CidrValue(cidr);
  return new Fault(`network address parse error during conversion from string: "${shortened(text)}"`);
}

/** Neither of one link or host, nor of many hosts. */
function isGlobalUnicast(address: Address): boolean {
  if (isUnspecified(address) || isLoopback(address) || isLinkLocalUnicast(address)) return false;
  if (!isIpv4(address)) return address[0] !== 0xff;
  return ((address[12] ?? 0) & 0xf0) !== 0xe0 && !address.subarray(12).every((part) => part === 255);
}

function test(name: string, holds: (address: Address) => boolean): Overload {
  return overload(`ip.${name}(): bool`, (_, { address }: IpValue) => holds(address));
}

function holdsNetwork({ cidr: outer }: CidrValue, inner: Cidr): boolean {
  return outer.family === inner.family && outer.bits <= inner.bits && contains(outer, inner.network);
}

function fromText<T>(found: T | Fault, use: (value: T) => Result): Result {
  return found instanceof Fault ? found : use(found);
}

/** The libraries of addresses and networks. */
export const networkFunctions: readonly Overload[] = [
  overload("ip(string): ip", ipOf),
  overload("isIP(string): bool", (frame, text: string) => addressOf(frame, text) !== undefined),
  overload("@ip.isCanonical(string): bool", (frame, text: string) =>
    fromText(ipOf(frame, text), ({ address }) => addressText(address) === text),
  ),
  overload("ip.family(): int", (_, { address }: IpValue) => (isIpv4(address) ? 4n : 6n)),
  overload("string(ip): string", (frame, { address }: IpValue) => {
    frame.spend(30);
    return addressText(address);
  }),
  test("isUnspecified", isUnspecified),
  test("isLoopback", isLoopback),
  test("isLinkLocalMulticast", isLinkLocalMulticast),
  test("isLinkLocalUnicast", isLinkLocalUnicast),
  test("isGlobalUnicast", isGlobalUnicast),
  overload("cidr(string): cidr", cidrOf),
  overload("isCIDR(string): bool", (frame, text: string) => networkOf(frame, text) !== undefined),
  overload("cidr.containsIP(ip): bool", (_, { cidr }: CidrValue, { address }: IpValue) => contains(cidr, address)),
  overload("cidr.containsIP(string): bool", (frame, { cidr }: CidrValue, text: string) =>
    fromText(ipOf(frame, text), ({ address }) => contains(cidr, address)),
  ),
  overload("cidr.containsCIDR(cidr): bool", (_, outer: CidrValue, { cidr }: CidrValue) => holdsNetwork(outer, cidr)),
  overload("cidr.containsCIDR(string): bool", (frame, outer: CidrValue, text: string) =>
    fromText(cidrOf(frame, text), ({ cidr }) => holdsNetwork(outer, cidr)),
  ),
  overload("cidr.ip(): ip", (_, { cidr }: CidrValue) => new IpValue(cidr.address)),
  overload("cidr.masked(): cidr", (_, { cidr }: CidrValue) => new CidrValue({ ...cidr, address: cidr.network })),
  overload("cidr.prefixLength(): int", (_, { cidr }: CidrValue) => BigInt(cidr.bits)),
  overload("string(cidr): string", (frame, { cidr }: CidrValue) => {
    frame.spend(30);
    return `${addressText(cidr.address)}/${cidr.bits}`;
  }),
];
