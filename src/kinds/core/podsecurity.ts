// What admission asks about the safety of pods.
import type { Volume } from "../../api/gen/core/v1.ts";

/** Kernel parameters every pod may set: they touch nothing but the pod (upstream). */
export const safeSysctls: ReadonlySet<string> = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
]);

/** The field that says where a volume comes from; undefined: none does. */
export function volumeSource(volume: Volume): string | undefined {
  return Object.entries(volume).find(([key, value]) => key !== "name" && value !== undefined)?.[0];
}
