// Addresses of machines: as text, and as owners, because work for a client before its user is known is charged to its
// address.
import type { Owner, ShareLevel } from "./shares.ts";

/** The owner of work for an address. */
export function ownerAt(remote: string, level: ShareLevel): Owner {
  return { name: networkOf(remote), level };
}

/** IPv4: the address. IPv6: its first 64 bits, because one machine has all that follow. */
export function networkOf(remote: string): string {
  if (!remote.includes(":")) return remote;
  if (remote.includes(".")) return remote.slice(remote.lastIndexOf(":") + 1);
  const [head = "", tail] = remote.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - left.length - right.length }, () => "0");
  const groups = [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16).toString(16));
  // A mapped IPv4 address where it is written in groups, as the uws build does.
  const isMapped = groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff";
  return isMapped ? groups.slice(6).join(":") : groups.slice(0, 4).join(":");
}

/** An address and a port as one text. */
export function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
