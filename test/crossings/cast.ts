// Who sends the requests of a crossing run, over which connections, and who each of them is to the server: users of
// every kind, strangers, and clients that claim to be another user.
import { authority, client, type Issued } from "../support/certificates.ts";

/** One way of sending a request, and whom the server must take its sender for. */
export interface Sender {
  /** What is counted together. */
  readonly kind: string;
  /** Header lines. */
  readonly head: string;
  /** Name of the user; empty: none, 401. */
  readonly who: string;
  /** Who may do everything, or claims to be whom they may not: every request of theirs is refused. */
  readonly rights?: "all" | "none";
  /** The user who asks, where `who` is whom they act as. */
  readonly asker?: string;
  /** Known without waiting for anything: may be sent down a pipe of the uws front. */
  readonly atOnce?: boolean;
}

/** A connection of a run. */
export interface Line {
  readonly senders: readonly Sender[];
  /** Requests under way on it. */
  readonly depth: number;
  readonly certificate?: Issued;
}

/** Certificates and the two authorities of a run; only the node front asks for certificates. */
export interface Papers {
  readonly users: string;
  readonly proxies: string;
  readonly carol: Issued;
  readonly root: Issued;
  readonly late: Issued;
  readonly front: Issued;
}

/** Whoever owns an object in a run; `robot` and `helper` are service accounts. */
export const owners: readonly string[] = [
  "alice",
  "bob",
  "carol",
  "dave",
  "erin",
  "zoe",
  "system:anonymous",
  "system:serviceaccount:default:robot",
  "system:serviceaccount:default:helper",
];

/** The static tokens of a run. */
export const tokenFile = 'alice-token,alice,1\nbob-token,bob,2,"dev,ops"\nboss-token,boss,3,"system:masters"\n';

/** Issues what the lines of a run present. */
export async function issuePapers(): Promise<Papers> {
  const users = await authority("users");
  const proxies = await authority("proxies");
  return {
    users: users.cert,
    proxies: proxies.cert,
    carol: await client(users, [{ CN: ["carol"] }]),
    root: await client(users, [{ O: ["system:masters"] }, { CN: ["root"] }]),
    late: await client(users, [{ CN: ["carol"] }], { from: -2, until: -1 }),
    front: await client(proxies, [{ CN: ["front"] }]),
  };
}

const bearer = (token: string): string => `Authorization: Bearer ${token}\r\n`;
const as = (name: string): string => `Impersonate-User: ${name}\r\n`;
const remote = (name: string, group = ""): string =>
  `X-Remote-User: ${name}\r\n${group === "" ? "" : `X-Remote-Group: ${group}\r\n`}`;

/** All clients without a certificate. `robot` and `helper` are tokens of service accounts. */
export function withoutCertificates(robot: string, helper: string): Sender[] {
  const robotName = "system:serviceaccount:default:robot";
  const boss = bearer("boss-token");
  return [
    { kind: "static token", head: bearer("alice-token"), who: "alice", atOnce: true },
    { kind: "static token", head: bearer("bob-token"), who: "bob", atOnce: true },
    { kind: "administrator", head: boss, who: "boss", rights: "all", atOnce: true },
    { kind: "service account", head: bearer(robot), who: robotName },
    { kind: "service account", head: bearer(helper), who: "system:serviceaccount:default:helper" },
    { kind: "anonymous", head: "", who: "system:anonymous", atOnce: true },
    { kind: "wrong token", head: bearer("carol-token"), who: "", atOnce: true },
    { kind: "forged token", head: bearer(`${robot.slice(0, -8)}AAAAAAAA`), who: "" },
    { kind: "impersonation", head: boss + as("zoe"), who: "zoe", asker: "boss" },
    { kind: "impersonation", head: boss + as(robotName), who: robotName, asker: "boss" },
    { kind: "refused impersonation", head: bearer("alice-token") + as("bob"), who: "alice", rights: "none" },
    { kind: "spoofed headers", head: remote("dave", "system:masters"), who: "system:anonymous", atOnce: true },
    { kind: "spoofed headers", head: bearer("bob-token") + remote("dave"), who: "bob", atOnce: true },
  ];
}

/** The same people behind a certificate: its user, whatever else they send; impersonation as that user may. */
function behind(name: string, rights: "all" | undefined, people: readonly Sender[]): Sender[] {
  const kind = `certificate of ${name}`;
  return people.map(({ head }) => {
    const wanted = /Impersonate-User: (.*)\r\n/.exec(head)?.[1];
    if (wanted === undefined) return { kind, head, who: name, ...(rights === undefined ? {} : { rights }) };
    if (rights === "all") return { kind: `${kind}, impersonation`, head, who: wanted, asker: name };
    return { kind: `${kind}, refused impersonation`, head, who: name, rights: "none" };
  });
}

/** Those whom wrong credentials on the connection leave: who has shown nothing else is not authenticated. */
function strictly(kind: string, people: readonly Sender[]): Sender[] {
  return people.map((sender) => (sender.who === "system:anonymous" ? { kind, head: sender.head, who: "" } : sender));
}

/** Whom a proxy speaks for. */
function proxied(people: readonly Sender[]): Sender[] {
  const kind = "proxy headers";
  const group = "system:masters";
  return [
    { kind, head: remote("dave"), who: "dave" },
    { kind, head: remote("erin", "dev"), who: "erin" },
    { kind, head: remote("erin", group), who: "erin", rights: "all" },
    { kind, head: remote("dave") + bearer("bob-token"), who: "dave" },
    { kind, head: remote("dave") + bearer("carol-token"), who: "dave" },
    { kind: `${kind}, impersonation`, head: remote("dave", group) + as("zoe"), who: "zoe", asker: "dave" },
    { kind: `${kind}, refused impersonation`, head: remote("dave") + as("zoe"), who: "dave", rights: "none" },
    ...strictly("proxy without headers", people).filter(({ head }) => !head.includes("X-Remote-User")),
  ];
}

/** The connections of a run; a bad certificate, and one of a proxy, are for the node front. */
export function linesOf(front: string, people: readonly Sender[], papers: Papers): Line[] {
  if (front === "uws") {
    // A request behind one that waits ends the connection there: only who is known at once goes down a pipe.
    const known = people.filter(({ atOnce }) => atOnce === true);
    const pipes = Array.from({ length: 4 }, () => ({ senders: known, depth: 8 }));
    const shown = [
      { senders: behind("carol", undefined, people), depth: 1, certificate: papers.carol },
      { senders: behind("root", "all", people), depth: 1, certificate: papers.root },
    ];
    return [...Array.from({ length: 8 }, () => ({ senders: people, depth: 1 })), ...pipes, ...shown];
  }
  return [
    ...[1, 1, 4, 16, 32].map((depth) => ({ senders: people, depth })),
    { senders: behind("carol", undefined, people), depth: 4, certificate: papers.carol },
    { senders: behind("root", "all", people), depth: 4, certificate: papers.root },
    { senders: strictly("expired certificate", people), depth: 4, certificate: papers.late },
    { senders: proxied(people), depth: 1, certificate: papers.front },
    { senders: proxied(people), depth: 16, certificate: papers.front },
  ];
}
