// Where a request came from, as it says itself and as the connection says (upstream: SourceIPs of apimachinery's net).
import { isIP } from "node:net";

/** Addresses in the order: X-Forwarded-For, X-Real-Ip, the peer. All but the last are the client's own words. */
export function sourcesOf(forwarded: string | undefined, realIp: string | undefined, remote: string): string[] {
  const found: string[] = [];
  if (forwarded !== undefined) {
    for (const part of forwarded.split(",")) {
      const address = part.trim();
      if (isIP(address) !== 0) found.push(canonical(address));
    }
  }
  const real = realIp?.trim() ?? "";
  if (real !== "" && isIP(real) !== 0 && !found.includes(canonical(real))) found.push(canonical(real));
  const peer = canonical(remote);
  if (isIP(peer) !== 0 && found.at(-1) !== peer) found.push(peer);
  return found;
}

/** One text per address: IPv4 in IPv6 as IPv4, IPv6 shortened (RFC 5952). */
function canonical(address: string): string {
  if (!address.includes(":")) return address;
  const host = `http://[${address}]/`;
  const text = URL.canParse(host) ? new URL(host).hostname.slice(1, -1) : address;
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text);
  if (mapped === null) return text;
  const bits = (Number.parseInt(mapped[1] ?? "", 16) << 16) | Number.parseInt(mapped[2] ?? "", 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
}
