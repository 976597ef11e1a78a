// The flags of certificates the server signs: names, defaults and rules are upstream's; pairs of one signer are spelled
// as the identity spells it.
import { formatDuration, parseDuration } from "./duration.ts";
import type { Flag, FlagValues } from "./flag.ts";

const group = "Certificates";

/** Signers with a pair of flags of their own: canonical name, and what the flags call it under either identity. */
const signerFlags = [
  {
    signer: "kubernetes.io/kube-apiserver-client",
    kubernetes: "kube-apiserver-client",
    orch: "apiserver-client",
    what: "clients of the server",
  },
  {
    signer: "kubernetes.io/kube-apiserver-client-kubelet",
    kubernetes: "kubelet-client",
    orch: "node-agent-client",
    what: "node agents as clients",
  },
  {
    signer: "kubernetes.io/kubelet-serving",
    kubernetes: "kubelet-serving",
    orch: "node-agent-serving",
    what: "node agents as servers",
  },
  {
    signer: "kubernetes.io/legacy-unknown",
    kubernetes: "legacy-unknown",
    orch: "legacy-unknown",
    what: "the signer legacy-unknown",
  },
] as const;

type Spelling = "kubernetes" | "orch";

const lifeMsMin = 600_000;
/** A year, and a hundred. */
const lifeMs = 8_760 * 3_600_000;
const lifeMsMax = 100 * lifeMs;

/** Two files, and the flag that names the first one. */
interface Pair {
  readonly flag: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** What signs signing requests. */
export interface SigningConfig {
  /** The longest life of a certificate, in milliseconds. */
  readonly lifeMsMax: number;
  /** By signer, in canonical spelling; undefined: the server's own authority signs for all of them. */
  readonly pairs: ReadonlyMap<string, Pair> | undefined;
}

/** Every signer that a server can sign for, in canonical spelling. */
export const signerNames: readonly string[] = signerFlags.map(({ signer }) => signer);

function pairFlags(name: string, what: string, more: string): Flag[] {
  return [
    {
      name: `cluster-signing-${name}cert-file`,
      group,
      type: "string",
      default: "",
      help: `PEM file of the certificate of the authority that signs ${what}. ${more}`,
    },
    {
      name: `cluster-signing-${name}key-file`,
      group,
      type: "string",
      default: "",
      help: `PEM file of the private key of --cluster-signing-${name}cert-file.`,
    },
  ];
}

/** Flags of signing. */
export const signingFlags: readonly Flag[] = [
  {
    name: "cluster-signing-duration",
    group,
    type: "duration",
    default: formatDuration(lifeMs),
    min: lifeMsMin,
    max: lifeMsMax,
    brief: "life of certificates it signs",
    help: "Lifetime of the certificates that the server signs; a request may ask for less (spec.expirationSeconds).",
  },
  ...pairFlags("", "requests", "Default: the server's own authority in the data directory."),
  ...signerFlags.flatMap(({ kubernetes, orch, what }) => {
    const more = "Where one signer has such a pair, signers without one do not sign.";
    const only = (identity: Spelling): string => (kubernetes === orch ? more : `${more} With --identity=${identity}.`);
    const brands = kubernetes === orch ? [] : pairFlags(`${orch}-`, what, only("orch"));
    return [...pairFlags(`${kubernetes}-`, what, only("kubernetes")), ...brands];
  }),
];

/** Reads the flags of signing. Returns the one line to print when they contradict each other. */
export function readSigning(values: FlagValues): SigningConfig | string {
  const identity: Spelling = values.get("identity") === "kubernetes" ? "kubernetes" : "orch";
  const foreign: Spelling = identity === "orch" ? "kubernetes" : "orch";
  const pairs = new Map<string, Pair>();
  for (const names of signerFlags) {
    const other = names[foreign] === names[identity] ? undefined : readPair(values, `${names[foreign]}-`);
    if (other !== undefined) {
      const flag = (name: string): string => `--cluster-signing-${name}-cert-file`;
      return `with --identity=${identity}, ${flag(names[foreign])} and its key are called ${flag(names[identity])}`;
    }
    const pair = readPair(values, `${names[identity]}-`);
    if (typeof pair === "string") return pair;
    if (pair !== undefined) pairs.set(names.signer, pair);
  }
  const all = readPair(values, "");
  if (typeof all === "string") return all;
  if (all !== undefined && pairs.size > 0) {
    return "--cluster-signing-cert-file is for all signers: none may have a pair of its own beside it";
  }
  if (all !== undefined) for (const name of signerNames) pairs.set(name, all);
  return {
    lifeMsMax: parseDuration(values.get("cluster-signing-duration") ?? "") ?? lifeMs,
    pairs: pairs.size === 0 ? undefined : pairs,
  };
}

/** One pair; undefined: none is given. */
function readPair(values: FlagValues, name: string): Pair | string | undefined {
  const [certFlag, keyFlag] = [`cluster-signing-${name}cert-file`, `cluster-signing-${name}key-file`];
  const [certFile = "", keyFile = ""] = [values.get(certFlag), values.get(keyFlag)];
  if ((certFile === "") !== (keyFile === "")) return `--${certFlag} and --${keyFlag} belong together`;
  return certFile === "" ? undefined : { flag: `--${certFlag}`, certFile, keyFile };
}
