// What must hold of a store at any time, whichever server serves.
import type { Listing, StoredKey } from "./listing.ts";

/** Keys of etcd whose objects are in no list. An object has the revision of its key, and no other key has it. */
export function unreadKeys(keys: ReadonlyMap<string, StoredKey>, { objects }: Listing): string[] {
  const listed = new Set([...objects.values()].map(({ metadata }) => metadata.resourceVersion));
  return [...keys.values()].filter(({ modRevision }) => !listed.has(modRevision)).map(({ key }) => key);
}

/** How values of a prefix begin, by the snapshot's encryption configuration. */
const encrypted: readonly (readonly [prefix: string, head: string])[] = [
  ["/registry/secrets/", "k8s:enc:aescbc:v1:key1:"],
  ["/registry/configmaps/", "k8s:enc:secretbox:v1:box1:"],
];

/** Keys that are stored otherwise than they must be: in the clear, or an event without a lease. */
export function wronglyStored(keys: ReadonlyMap<string, StoredKey>): string[] {
  const wrong: string[] = [];
  for (const { key, value, lease } of keys.values()) {
    const head = encrypted.find(([prefix]) => key.startsWith(prefix))?.[1];
    if (head !== undefined && !value.subarray(0, head.length).equals(Buffer.from(head)))
      wrong.push(`${key}: in the clear`);
    if (key.startsWith("/registry/events/") !== (lease !== "0") && !key.startsWith("/registry/masterleases/"))
      wrong.push(`${key}: its lease is ${lease}`);
  }
  return wrong;
}

interface Service {
  readonly spec: {
    readonly clusterIPs?: readonly string[];
    readonly ports?: readonly { readonly nodePort?: number; readonly protocol: string }[];
    readonly healthCheckNodePort?: number;
  };
}

/** Addresses and node ports that two services have. */
export function addressesOf({ objects }: Listing): string[] {
  const owners = new Map<string, string>();
  const twice: string[] = [];
  for (const [key, object] of objects) {
    if (!key.startsWith("/api/v1/services ")) continue;
    const { clusterIPs = [], ports = [], healthCheckNodePort } = (object as unknown as Service).spec;
    const nodePorts = [...ports.map(({ nodePort }) => nodePort), healthCheckNodePort].filter(
      (port) => port !== undefined,
    );
    for (const held of [...clusterIPs.filter((address) => address !== "None"), ...new Set(nodePorts.map(String))]) {
      const owner = owners.get(held);
      if (owner === undefined) owners.set(held, key);
      else twice.push(`${held} belongs to ${owner} and ${key}`);
    }
  }
  return twice;
}
