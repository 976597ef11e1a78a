// What may differ between the servers, and what a start may write: each with its reason.

/** A difference that is known. */
export interface KnownDifference {
  readonly pattern: RegExp;
  readonly reason: string;
}

const ownLeases = "leases of this server and its controllers, renewed all the time";

/** Keys of etcd that hold no object, or one that changes between two looks. */
export const noObjects: readonly KnownDifference[] = [
  { pattern: /^\/registry\/masterleases\//, reason: "upstream's server renews its place among servers every 10 s" },
  { pattern: /^\/registry\/ranges\//, reason: "addresses: upstream's bitmaps, and this server's claims" },
  {
    pattern: /^\/registry\/orch\/touch$/,
    reason: "what members of etcd before 3.4.25 are asked by for the progress of a watch",
  },
  { pattern: /^\/registry\/leases\/kube-system\/(kube-)?apiserver-/, reason: ownLeases },
];

/** The events in which upstream's repair tells that it takes addresses of this server's services into its bitmaps. */
const repaired = "upstream's repair: addresses that this server gave out are new to its bitmaps";
/** Upstream's controllers of API services do not wait for those of definitions, and delete what these have not said yet. */
const registeredAnew = "upstream may delete API services of definitions at its start, and makes them anew";

const holder = "an event tells who holds that lease";
const dangling = "upstream's flow control writes a condition (Dangling) into each";

/** Keys of etcd that a start of either server writes. */
export const writtenAtStart: readonly KnownDifference[] = [
  ...noObjects,
  { pattern: /^\/registry\/events\/kube-system\/apiserver-controllers\./, reason: holder },
  { pattern: /^\/registry\/events\/[^/]+\/w-[^/]+\.[0-9a-f]{16}$/, reason: repaired },
  { pattern: /^\/registry\/flowschemas\/w-/, reason: dangling },
  {
    pattern: /^\/registry\/apiregistration\.k8s\.io\/apiservices\/v\w+\.\w+\.example\.com$/,
    reason: registeredAnew,
  },
];

/** What this server's controllers write at their first start on a cluster that never had any. */
export const writtenByControllers: readonly KnownDifference[] = [
  ...writtenAtStart,
  { pattern: /^\/registry\/certificatesigningrequests\//, reason: "csrcleaner: requests that are a day old" },
  { pattern: /^\/registry\/clusterroles\/(admin|edit|view)$/, reason: "clusterrole-aggregation" },
  { pattern: /^\/registry\/minions\//, reason: "nodelifecycle: a node without an agent" },
  { pattern: /^\/registry\/resourcequotas\//, reason: "resourcequota: what is used" },
  { pattern: /^\/registry\/serviceaccounts\//, reason: "serviceaccount-token: secrets of accounts" },
  { pattern: /^\/registry\/services\/endpoints\//, reason: "endpoint: endpoints of a service with a selector" },
];

/** Differences between lists of the two servers that are known. */
export const knownDifferences: readonly KnownDifference[] = [
  { pattern: /^\S*leases kube-system\/(kube-)?apiserver-/, reason: ownLeases },
  { pattern: /^\S*events kube-system\/apiserver-controllers\./, reason: holder },
  { pattern: /^\S*flowschemas w-/, reason: dangling },
  { pattern: /^\S*events .*second has it, (ClusterIP|Port)NotAllocated$/, reason: repaired },
  { pattern: /^\S*apiservices v\w+\.\w+\.example\.com \.metadata\./, reason: registeredAnew },
];

/** Differences that are not known, and how often each known reason was met. */
export function sortOut(
  lines: readonly string[],
  known: readonly KnownDifference[],
  met: Record<string, number>,
): string[] {
  return lines.filter((line) => {
    const found = known.find(({ pattern }) => pattern.test(line));
    if (found !== undefined) met[found.reason] = (met[found.reason] ?? 0) + 1;
    return found === undefined;
  });
}
