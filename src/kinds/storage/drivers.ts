// What kinds of the storage group check alike.
import { notSupported, required, tooLong } from "../../api/fielderror.ts";
import { bytesOf, isDns1123Subdomain } from "../formats.ts";
import { type Errors, faults } from "../validation/check.ts";

const driverBytesMax = 63;

/** A choice that may be left out. */
export function checkSet(out: Errors, path: string, value: string | undefined, supported: readonly string[]): void {
  if (value !== undefined && !supported.includes(value)) out.push(notSupported(path, value, supported));
}

/** The name of a driver of volumes. */
export function checkDriverName(out: Errors, path: string, name: string): void {
  if (name === "") out.push(required(path));
  if (bytesOf(name) > driverBytesMax) out.push(tooLong(path, driverBytesMax));
  faults(out, path, name, isDns1123Subdomain(name.toLowerCase()));
}
