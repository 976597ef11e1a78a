// Many users on few connections: mixes requests of every kind of user at random over connections that are kept alive,
// pipelined and not, and checks that each answer, and each audit event, is about whoever sent the request. Used by
// run.test.ts and, for long runs, by scripts/crossings.ts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { random } from "../support/random.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { AuditLog } from "./auditlog.ts";
import {
  issuePapers,
  type Line,
  linesOf,
  owners,
  type Papers,
  type Sender,
  tokenFile,
  withoutCertificates,
} from "./cast.ts";
import { type Question, questions } from "./question.ts";
import { Wire } from "./wire.ts";

/** What a run found. */
export interface Crossings {
  readonly front: string;
  readonly seed: number;
  /** Requests that were answered, and by kind of sender. */
  readonly requests: number;
  readonly kinds: Readonly<Record<string, number>>;
  /** Audit events that were looked at. */
  readonly events: number;
  /** Answers and events about another user. */
  readonly crossings: number;
  /** The first of them. */
  readonly examples: readonly string[];
  readonly connections: number;
  /** Connections the server closed with requests unanswered, which were sent again. */
  readonly cuts: number;
  readonly seconds: number;
}

/** How much is under way between two looks at the audit log; also how often tokens change. */
const roundMax = 10_000;
/** Nothing may take longer than this; then the run ends with an error. */
const silenceMsMax = 120_000;
const examplesMax = 20;

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata}
`;

/** A request whose answer has not come. */
interface Asked {
  readonly id: string;
  readonly sender: Sender;
  readonly question: Question;
}

/** Sends `count` requests to a server of its own. Rejects when the server falls silent. */
export async function runCrossings(front: string, count: number, seed: number): Promise<Crossings> {
  const directory = mkdtempSync(join(tmpdir(), "orch-crossings-"));
  const papers = await issuePapers();
  const server = await startServer([
    "--identity=kubernetes",
    `--front=${front}`,
    "--front-workers=2",
    "--log-level=error",
    ...flags(directory, front, papers),
  ]);
  try {
    await makeBoxes(server);
    await server.caughtUp();
    const run = new Run(server, server.files(join(directory, "audit.log")), random(seed));
    const start = performance.now();
    while (run.requests < count) {
      const people = withoutCertificates(await tokenOf(server, "robot"), await tokenOf(server, "helper"));
      await run.round(linesOf(front, people, papers), Math.min(roundMax, count - run.requests));
    }
    run.close();
    const seconds = Math.round((performance.now() - start) / 100) / 10;
    return { front, seed, ...run.findings(), seconds };
  } finally {
    await server.stop("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  }
}

function flags(directory: string, front: string, papers: Papers): string[] {
  const keep = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const common = [
    `--token-auth-file=${keep("tokens.csv", tokenFile)}`,
    `--audit-policy-file=${keep("policy.yaml", policy)}`,
    `--audit-log-path=${join(directory, "audit.log")}`,
    "--audit-log-maxsize=64",
    "--audit-log-maxbackup=2",
    `--client-ca-file=${keep("users.crt", papers.users)}`,
  ];
  if (front === "uws") return common;
  return [
    ...common,
    `--requestheader-client-ca-file=${keep("proxies.crt", papers.proxies)}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-allowed-names=front",
  ];
}

/** An object for each owner, that no other user may read. */
async function makeBoxes(server: TestServer): Promise<void> {
  const core = "/api/v1/namespaces/default";
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  const make = async (path: string, body: object): Promise<void> => {
    const answer = await server.call("POST", path, body);
    if (answer.code !== 201) throw new Error(`${path} answered ${answer.code}: ${answer.text}`);
  };
  for (const name of ["robot", "helper"]) await make(`${core}/serviceaccounts`, { metadata: { name } });
  for (const [index, owner] of owners.entries()) {
    const name = `box-${index}`;
    const apiGroup = "rbac.authorization.k8s.io";
    await make(`${core}/configmaps`, { metadata: { name }, data: { owner } });
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"], resourceNames: [name] }];
    await make(`${rbac}/roles`, { metadata: { name }, rules });
    const subjects = [{ kind: "User", name: owner, apiGroup }];
    await make(`${rbac}/rolebindings`, { metadata: { name }, roleRef: { apiGroup, kind: "Role", name }, subjects });
  }
}

async function tokenOf(server: TestServer, account: string): Promise<string> {
  const answer = await server.call("POST", `/api/v1/namespaces/default/serviceaccounts/${account}/token`, {});
  if (answer.code !== 201) throw new Error(`No token for ${account}: ${answer.code}`);
  return answer.json.status.token;
}

/** One run: what is under way, and what was found. */
class Run {
  requests = 0;
  #crossings = 0;
  #events = 0;
  #cuts = 0;
  #connections = 0;
  readonly #examples: string[] = [];
  readonly #kinds = new Map<string, number>();
  readonly #server: TestServer;
  /** That of each process of the server. */
  readonly #logs: readonly AuditLog[];
  readonly #pick: (n: number) => number;
  /** Requests whose event was not seen, by their Audit-Id. */
  readonly #unseen = new Map<string, Sender>();
  /** Requests that were made up so far. */
  #made = 0;

  constructor(server: TestServer, auditLogs: readonly string[], pick: (n: number) => number) {
    this.#server = server;
    this.#pick = pick;
    this.#logs = auditLogs.map((path) => new AuditLog(path, (id, asker, acted) => this.#event(id, asker, acted)));
  }

  /** Sends `count` requests over these connections, and waits for all that is to be seen of them. */
  async round(lines: readonly Line[], count: number): Promise<void> {
    const aim = this.requests + count;
    let left = count;
    const wires = lines.map((line) =>
      this.#wire(
        line,
        () => left > 0 && left-- > 0,
        (unanswered) => (left += unanswered),
      ),
    );
    for (const wire of wires) wire.fill();
    const answered = await eventually(() => this.requests >= aim, silenceMsMax);
    for (const wire of wires) wire.close();
    if (!answered) throw new Error(`${aim - this.requests} requests were not answered`);
    const seen = await eventually(() => {
      for (const log of this.#logs) log.read();
      return this.#unseen.size === 0;
    }, silenceMsMax);
    if (!seen) throw new Error(`${this.#unseen.size} requests left no audit event`);
  }

  findings(): Omit<Crossings, "front" | "seed" | "seconds"> {
    return {
      requests: this.requests,
      kinds: Object.fromEntries([...this.#kinds].sort(([a], [b]) => (a < b ? -1 : 1))),
      events: this.#events,
      crossings: this.#crossings,
      examples: this.#examples,
      connections: this.#connections,
      cuts: this.#cuts,
    };
  }

  close(): void {
    for (const log of this.#logs) log.close();
  }

  #wire({ senders, depth, certificate }: Line, more: () => boolean, again: (unanswered: number) => void): Wire {
    const { base, ca } = this.#server;
    const own = certificate === undefined ? {} : { cert: certificate.cert, key: certificate.key };
    const asked: Asked[] = [];
    this.#connections += 1;
    const wire: Wire = new Wire({ port: Number(new URL(base).port), ca, ...own }, depth, {
      next: () => {
        if (!more()) return undefined;
        const request = this.#make(senders);
        asked.push(request);
        return textOf(request);
      },
      take: ({ code, id, body }) => this.#judge(asked.shift(), code, id, body),
      cut: () => {
        this.#cuts += 1;
        // They may have run or not: whether they have an event is not asked.
        for (const request of asked) this.#unseen.delete(request.id);
        again(asked.length);
        asked.length = 0;
        wire.fill();
      },
    });
    return wire;
  }

  #make(senders: readonly Sender[]): Asked {
    const sender = senders[this.#pick(senders.length)] as Sender;
    const question = questions[this.#pick(questions.length)] as Question;
    const id = `crossing-${this.#made++}`;
    this.#unseen.set(id, sender);
    return { id, sender, question };
  }

  #judge(asked: Asked | undefined, code: number, id: string, body: string): void {
    if (asked === undefined) return this.#crossed(`an answer to no question: ${code} ${body.slice(0, 300)}`);
    this.requests += 1;
    const { sender, question } = asked;
    this.#kinds.set(sender.kind, (this.#kinds.get(sender.kind) ?? 0) + 1);
    const about = `${asked.id}, ${sender.kind} of ${sender.who}, ${question.line}`;
    if (id !== asked.id) return this.#crossed(`${about}: got the answer to ${id}`);
    const wrong = question.judge(sender, code, body);
    if (wrong !== undefined) this.#crossed(`${about}: ${wrong}`);
  }

  #event(id: string, asker: string, acted: string): void {
    const sender = this.#unseen.get(id);
    if (sender === undefined) return;
    this.#unseen.delete(id);
    this.#events += 1;
    const wanted = sender.asker === undefined ? [sender.who, ""] : [sender.asker, sender.who];
    if (asker === wanted[0] && acted === wanted[1]) return;
    this.#crossed(`${id}: the event is about "${asker}" as "${acted}", not "${wanted[0]}" as "${wanted[1]}"`);
  }

  #crossed(what: string): void {
    this.#crossings += 1;
    if (this.#examples.length < examplesMax) this.#examples.push(what);
  }
}

function textOf({ id, sender, question }: Asked): string {
  const { line, body } = question;
  const length = body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `${line} HTTP/1.1\r\nHost: localhost\r\nAudit-ID: ${id}\r\n${sender.head}${length}\r\n${body}`;
}
