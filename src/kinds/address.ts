// IP addresses and CIDRs: parsing and classes of addresses as upstream's net package sees them. An address is
// its 16 bytes; an IPv4 address is the mapped form, and `isIpv4` tells (which is how Go's net.IP works too).

/** An address in 16 bytes, IPv4 mapped (::ffff:a.b.c.d). */
export type Address = Uint8Array;

/** A prefix: the address as given, the network's address, and the length in bits of the form it was written in. */
export interface Cidr {
  readonly address: Address;
  readonly network: Address;
  /** Bits of the prefix, counted in the 32 bits of IPv4 or the 128 of IPv6. */
  readonly bits: number;
  readonly family: "IPv4" | "IPv6";
}

/** Parses an address; leading zeros in IPv4 are decimal (upstream tolerates them), zones are refused. */
export function parseAddress(text: string): Address | undefined {
  if (text.length > 45) return undefined;
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** What an IPv4 address with leading zeros is to readers that take such parts as octal; undefined: nothing else. */
export function parseOctal(text: string): Address | undefined {
  if (text.includes(":") || !/(^|\.)0[0-9]/.test(text)) return undefined;
  const parts = text.split(".").map((part) => (/^0[0-7]+$/.test(part) ? String(Number.parseInt(part, 8)) : part));
  return parseIpv4(parts.join("."));
}

/** Parses `address/bits`. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = parseAddress(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (address === undefined || !/^[0-9]{1,3}$/.test(length)) return undefined;
  const bits = Number(length);
  const family = text.includes(":") ? "IPv6" : "IPv4";
  if (bits > (family === "IPv4" ? 32 : 128)) return undefined;
  const network = address.slice();
  const from = family === "IPv4" ? 96 + bits : bits;
  if (from < 128) network[from >> 3] = (network[from >> 3] ?? 0) & ~(0xff >> (from & 7));
  network.fill(0, (from >> 3) + 1);
  return { address, network, bits, family };
}

/** True when `inner` lies in `outer` (same family). */
export function contains(outer: Cidr, inner: Address): boolean {
  if (isIpv4(inner) !== (outer.family === "IPv4")) return false;
  const length = outer.family === "IPv4" ? 96 + outer.bits : outer.bits;
  for (let bit = 0; bit < length; bit++) {
    const mask = 0x80 >> (bit & 7);
    if (((outer.network[bit >> 3] ?? 0) & mask) !== ((inner[bit >> 3] ?? 0) & mask)) return false;
  }
  return true;
}

/** True for an IPv4 address (mapped ones included). */
export function isIpv4(address: Address): boolean {
  for (let index = 0; index < 10; index++) if (address[index] !== 0) return false;
  return address[10] === 0xff && address[11] === 0xff;
}

/** 0.0.0.0 or ::. */
export function isUnspecified(address: Address): boolean {
  return isIpv4(address) ? address.subarray(12).every((b) => b === 0) : address.every((b) => b === 0);
}

/** 127.0.0.0/8 or ::1. */
export function isLoopback(address: Address): boolean {
  if (isIpv4(address)) return address[12] === 127;
  return address.subarray(0, 15).every((b) => b === 0) && address[15] === 1;
}

/** 169.254.0.0/16 or fe80::/10. */
export function isLinkLocalUnicast(address: Address): boolean {
  if (isIpv4(address)) return address[12] === 169 && address[13] === 254;
  return address[0] === 0xfe && ((address[1] ?? 0) & 0xc0) === 0x80;
}

/** 224.0.0.0/24 or ffx2::. */
export function isLinkLocalMulticast(address: Address): boolean {
  if (isIpv4(address)) return address[12] === 224 && address[13] === 0 && address[14] === 0;
  return address[0] === 0xff && ((address[1] ?? 0) & 0x0f) === 0x02;
}

/** What is wrong with an address. */
export function isIp(text: string): string[] {
  return parseAddress(text) === undefined ? ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"] : [];
}

/** What is wrong with an address where only IPv4 is wanted. */
export function isIpv4Text(text: string): string[] {
  const address = parseAddress(text);
  return address !== undefined && isIpv4(address) ? [] : ["must be a valid IPv4 address"];
}

/** What is wrong with an address where only IPv6 is wanted. */
export function isIpv6Text(text: string): string[] {
  const address = parseAddress(text);
  return address !== undefined && !isIpv4(address) ? [] : ["must be a valid IPv6 address"];
}

/** What is wrong with a CIDR. */
export function isCidr(text: string): string[] {
  return parseCidr(text) === undefined ? ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"] : [];
}

/** Four decimal parts as a mapped address: read character by character, because some objects hold tens of thousands. */
function parseIpv4(text: string): Address | undefined {
  const address = new Uint8Array(16);
  address[10] = 0xff;
  address[11] = 0xff;
  let part = 0;
  let digits = 0;
  let value = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x2e) {
      if (digits === 0 || part === 3) return undefined;
      address[12 + part] = value;
      part += 1;
      digits = 0;
      value = 0;
    } else {
      if (code < 0x30 || code > 0x39) return undefined;
      digits += 1;
      value = value * 10 + code - 0x30;
      if (value > 255) return undefined;
    }
  }
  if (digits === 0 || part !== 3) return undefined;
  address[15] = value;
  return address;
}

function parseIpv6(text: string): Address | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = groups(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? groups(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const count = head.length + tail.length;
  if (halves.length === 2 ? count > 14 : count !== 16) return undefined;
  const address = new Uint8Array(16);
  address.set(head, 0);
  address.set(tail, 16 - tail.length);
  return address;
}

/** Bytes of `a:b:c`, the last group possibly an IPv4 address. */
function groups(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const bytes: number[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.includes(".")) {
      const four = last && index === parts.length - 1 ? parseIpv4(part) : undefined;
      if (four === undefined) return undefined;
      bytes.push(...four.subarray(12));
    } else {
      if (!/^[0-9A-Fa-f]{1,4}$/.test(part)) return undefined;
      const value = Number.parseInt(part, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}

/** Whether an address can be an endpoint of a service. */
export function isReachable(text: string): boolean {
  const address = parseAddress(text);
  if (address === undefined) return false;
  return ![isUnspecified, isLoopback, isLinkLocalUnicast, isLinkLocalMulticast].some((is) => is(address));
}
