// Where others than this machine reach the server: what its own service leads to, and what its certificate says.
import { networkInterfaces } from "node:os";
import type { Config } from "../config/config.ts";
import { ownServiceAddress } from "../controllers/ownservice.ts";
import { isReachable } from "../kinds/address.ts";
import { parseRanges } from "../kinds/ranges.ts";

/** Addresses of the host that others may know. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((interfaces) => interfaces ?? [])
    .filter(({ internal, address }) => !internal && isReachable(address))
    .map(({ address }) => address);
}

/**
 * `--advertise-address`, else the address the server listens on, else, where that is all of them, the host's first of
 * its family; undefined where no other host can reach it.
 */
export function advertisedAddress({ advertiseAddress, bindAddress }: Config, own = ownAddresses()): string | undefined {
  if (advertiseAddress !== "") return advertiseAddress;
  if (bindAddress === "0.0.0.0") return own.find((address) => !address.includes(":"));
  if (bindAddress === "::") return own[0];
  return isReachable(bindAddress) ? bindAddress : undefined;
}

/** Every address of the server's certificate: what it listens on, what it advertises, and that of its own service. */
export function servingAddresses(config: Config): string[] {
  const { bindAddress, advertiseAddress, serviceAddressRanges, servicePortRange } = config;
  const listening = bindAddress === "0.0.0.0" || bindAddress === "::" ? ownAddresses() : [bindAddress];
  const ranges = parseRanges(serviceAddressRanges, servicePortRange);
  const service = typeof ranges === "string" ? undefined : ownServiceAddress(ranges);
  return [...listening, advertiseAddress, service ?? ""].filter((address) => address !== "");
}
