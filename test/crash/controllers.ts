// The controllers' crash test: the server is killed at random moments and at failpoints, while clients ask for
// certificates, make and delete bootstrap tokens, and delete owners with each policy. What the controllers began has to
// be ended after the next start, once. Used by controllers.test.ts and, for long runs, by scripts/crash.ts.
import { createHmac } from "node:crypto";
import { type Answer, eventually, startServer, type TestServer } from "../support/server.ts";
import { commonName, nodeSubject, requestDer, requestPem } from "../support/signing.ts";

const flags = [
  "--identity=kubernetes",
  "--controllers=*,bootstrapsigner,tokencleaner,-own-service,-endpoint,-endpointslice,-endpointslicemirroring",
  "--log-level=error",
];
const maps = "/api/v1/namespaces/default/configmaps";
const secrets = "/api/v1/namespaces/kube-system/secrets";
const info = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const merge = { "content-type": "application/merge-patch+json" };
/** How long the controllers may take for what a client asked for, with kills in between. */
const settledMsMax = 120_000;

/** Where a controller stands between two steps, and how often it may have passed there before it is killed. */
const failpoints = [
  ...["collector-looked", "collector-before-change", "collector-after-change", "collector-before-delete"],
  ...["collector-after-delete", "collector-before-finalizer", "collector-after-finalizer"],
  ...["before-approval", "after-approval", "before-certificate", "after-certificate"],
  ...["bootstrap-before-signatures", "bootstrap-after-signatures", "cleaner-before-delete", "cleaner-after-delete"],
];

/** What a run found. */
export interface ControllersRun {
  readonly violations: readonly string[];
  readonly kills: number;
  /** Kills at failpoints among them. */
  readonly atFailpoints: number;
  readonly certificates: number;
  readonly tokens: number;
  readonly families: number;
  readonly readyMsMax: number;
}

/** Kills the server on `dir` `kills` times, every other time at a failpoint that it may pass. */
export async function runControllers(dir: string, kills: number, pick: (n: number) => number): Promise<ControllersRun> {
  const clients = new Clients(pick);
  let server = await startServer(flags, dir);
  const port = Number(new URL(server.base).port);
  clients.up(server);
  const running = clients.run();
  const counts = { kills: 0, atFailpoints: 0, readyMsMax: 0 };
  while (counts.kills < kills) {
    const died = new Promise<true>((resolve) => server.process.once("exit", () => resolve(true)));
    const isAtFailpoint = await Promise.race([died, pause(100 + pick(1_500))]);
    if (isAtFailpoint) counts.atFailpoints += 1;
    counts.kills += 1;
    clients.down();
    await server.stop("SIGKILL", false);
    const killedAt = performance.now();
    server = await startAt(dir, port, pick);
    counts.readyMsMax = Math.max(counts.readyMsMax, Math.round(performance.now() - killedAt));
    clients.up(server);
    if (counts.kills % 25 === 0) console.error(`${counts.kills} kills`);
  }
  // The last one may be about to die at a failpoint.
  clients.down();
  await server.stop("SIGKILL", false);
  server = await startServer(flags, dir, { port });
  clients.up(server);
  clients.stop();
  await running;
  await clients.checkAll();
  await server.stop("SIGKILL", false);
  return { violations: clients.violations, ...counts, ...clients.counts };
}

/** Starts it, with a failpoint at half of the starts; it may die of that before it is ready. */
async function startAt(dir: string, port: number, pick: (n: number) => number): Promise<TestServer> {
  if (pick(2) === 0) {
    process.env["ORCH_FAILPOINT"] = `${failpoints[pick(failpoints.length)]}:${1 + pick(3)}`;
    const server = await startServer(flags, dir, { port }).catch(() => undefined);
    delete process.env["ORCH_FAILPOINT"];
    if (server !== undefined) return server;
  }
  return startServer(flags, dir, { port });
}

function pause(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}

/** Clients that live on while the server dies and comes back. */
class Clients {
  readonly violations: string[] = [];
  readonly counts = { certificates: 0, tokens: 0, families: 0 };
  readonly #pick: (n: number) => number;
  /** The certificate each request was seen with first, by uid, and the oldest revision it was seen at. */
  readonly #certificates = new Map<string, { readonly certificate: string; revision: number }>();
  /** Secrets of tokens that are there. */
  readonly #tokens = new Map<string, string>();
  #server: TestServer | undefined;
  #waiting: (() => void)[] = [];
  #closeWatch: () => void = () => undefined;
  #isStopping = false;
  #count = 0;

  constructor(pick: (n: number) => number) {
    this.#pick = pick;
  }

  /** The server is there, again. */
  up(server: TestServer): void {
    this.#server = server;
    // Every state of a request is looked at, those before the kill included.
    this.#closeWatch = server.watch(`${requests}?watch=true`, ({ object }) => this.#note(object as unknown as Csr));
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** It is about to be killed. */
  down(): void {
    this.#server = undefined;
    this.#closeWatch();
  }

  /** Has the clients end what they began. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Starts them; ends when they were stopped and what they asked for was done. */
  async run(): Promise<void> {
    const loop = async (one: (name: string) => Promise<void>): Promise<void> => {
      while (!this.#isStopping) await one(`n${this.#count++}`);
    };
    const family = (name: string): Promise<void> => this.#family(name);
    const request = (name: string): Promise<void> => this.#request(name);
    const token = (): Promise<void> => this.#token();
    await this.#bind();
    await Promise.all([loop(family), loop(family), loop(request), loop(request), loop(token), loop(token)]);
  }

  /** Everything there is, in the end. */
  async checkAll(): Promise<void> {
    for (const csr of (await this.#call("GET", requests)).json.items as Csr[]) this.#note(csr);
    const left = (await this.#call("GET", `${maps}?labelSelector=family`)).json.items as {
      metadata: { name: string };
    }[];
    for (const { metadata } of left) this.violations.push(`${metadata.name} is left`);
    await this.#expect("only the signatures of tokens", async () => {
      const { data } = (await this.#call("GET", info)).json as ClusterInfo;
      const signed = Object.keys(data).filter((key) => key.startsWith("jws-"));
      return (
        signed.length === this.#tokens.size && [...this.#tokens].every(([id, secret]) => isSigned(data, id, secret))
      );
    });
    this.#closeWatch();
  }

  /** One request, again until it is answered: connections break, and a dying server is unavailable. */
  async #call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    for (;;) {
      while (this.#server === undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      try {
        const answer = await this.#server.call(method, path, body, headers);
        if (answer.code !== 429 && answer.code < 500) return answer;
        if (answer.code === 500) this.violations.push(`${method} ${path} is answered ${answer.text}`);
      } catch {
        // It is not known what became of it.
      }
      await pause(10);
    }
  }

  /** Creates an object. One that is there was made by a try before. */
  async #make(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer["json"]> {
    const { name } = (body as { metadata: { name: string } }).metadata;
    const made = await this.#call("POST", path, body, headers);
    if (made.code === 201) return made.json;
    if (made.code !== 409) this.violations.push(`${name} cannot be made: ${made.text}`);
    return (await this.#call("GET", `${path}/${name}`)).json;
  }

  async #expect(what: string, condition: () => Promise<boolean>): Promise<void> {
    if (!(await eventually(condition, settledMsMax))) this.violations.push(`not within two minutes: ${what}`);
  }

  // Certificates.

  /** Lets nodes that join have their requests approved. */
  async #bind(): Promise<void> {
    const roleRef = {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:bootstrappers" }];
    const metadata = { name: "joining" };
    await this.#make("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { metadata, roleRef, subjects });
    const rules = [
      { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: ["create"] },
    ];
    await this.#make("/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata, rules });
    const own = { ...roleRef, name: "joining" };
    const creating = { metadata: { name: "creating" }, roleRef: own, subjects };
    await this.#make("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", creating);
  }

  /** Approved by a client or by the server; certified once. */
  async #request(name: string): Promise<void> {
    const isNode = this.#pick(2) === 0;
    const spec = {
      request: requestPem(requestDer({ subject: isNode ? nodeSubject : [[commonName, name]] })).toString("base64"),
      signerName: `kubernetes.io/kube-apiserver-client${isNode ? "-kubelet" : ""}`,
      usages: isNode ? ["client auth", "digital signature", "key encipherment"] : ["client auth"],
    };
    const joining = { "impersonate-user": "system:bootstrap:aaaaaa", "impersonate-group": "system:bootstrappers" };
    const { metadata } = await this.#make(requests, { metadata: { name }, spec }, isNode ? joining : {});
    const status = { conditions: [{ type: "Approved", status: "True", reason: "Test", message: "m" }] };
    if (!isNode) await this.#call("PATCH", `${requests}/${name}/approval`, { status }, merge);
    await this.#expect(`request ${name} has a certificate`, async () => {
      const { json } = await this.#call("GET", `${requests}/${name}`);
      this.#note(json);
      return this.#certificates.has(metadata.uid);
    });
    this.counts.certificates += 1;
    // A few stay, and keep theirs.
    if (this.#pick(4) > 0) await this.#call("DELETE", `${requests}/${name}`);
  }

  #note({ metadata, status }: Csr): void {
    const before = this.#certificates.get(metadata.uid);
    const revision = Number(metadata.resourceVersion);
    if (status?.certificate === undefined) {
      // A watch may tell of a state later than a get of a newer one.
      if (before !== undefined && revision > before.revision)
        this.violations.push(`request ${metadata.name} lost its certificate`);
      return;
    }
    const { certificate } = status;
    if (before === undefined) this.#certificates.set(metadata.uid, { certificate, revision });
    else if (before.certificate === certificate) before.revision = Math.min(before.revision, revision);
    else this.violations.push(`request ${metadata.name} has two certificates`);
    const approvals = status.conditions?.filter(({ type }) => type === "Approved").length;
    if (approvals !== 1) this.violations.push(`request ${metadata.name} was approved ${approvals} times`);
  }

  // Tokens.

  /** Signs while it is there, and goes by a delete or by its end. */
  async #token(): Promise<void> {
    const id = Array.from({ length: 6 }, () => this.#pick(36).toString(36)).join("");
    const secret = Array.from({ length: 16 }, () => this.#pick(36).toString(36)).join("");
    const isShort = this.#pick(2) === 0;
    const end = new Date(Date.now() + 4_000).toISOString();
    const stringData = {
      "token-id": id,
      "token-secret": secret,
      "usage-bootstrap-signing": "true",
      ...(isShort ? { expiration: end } : {}),
    };
    const name = `bootstrap-token-${id}`;
    await this.#make(secrets, { metadata: { name }, type: "bootstrap.kubernetes.io/token", stringData });
    const data = async (): Promise<ClusterInfo["data"]> => (await this.#call("GET", info)).json.data ?? {};
    if (!isShort) {
      await this.#expect(`token ${id} signs`, async () => isSigned(await data(), id, secret));
      if (this.#pick(3) === 0) {
        const kubeconfig = `${(await data())["kubeconfig"]}# ${id}\n`;
        await this.#call("PATCH", info, { data: { kubeconfig } }, merge);
        await this.#expect(`token ${id} signs what changed`, async () => isSigned(await data(), id, secret));
      }
      if (this.#tokens.size < 5) this.#tokens.set(id, secret);
      else await this.#call("DELETE", `${secrets}/${name}`);
    }
    if (!this.#tokens.has(id)) {
      await this.#expect(
        `token ${id} is gone`,
        async () => (await this.#call("GET", `${secrets}/${name}`)).code === 404,
      );
      await this.#expect(`nothing is left of token ${id}`, async () => !(`jws-kubeconfig-${id}` in (await data())));
    }
    this.counts.tokens += 1;
  }

  // Owners.

  /** An owner with dependents of several kinds is deleted: all of them are as they should be, then. */
  async #family(name: string): Promise<void> {
    const policy = ["Background", "Foreground", "Orphan"][this.#pick(3)] ?? "";
    const owner = await this.#member(name, []);
    const other = await this.#member(`${name}-other`, []);
    const count = 1 + this.#pick(6);
    for (let index = 0; index < count; index++) {
      const child = await this.#member(`${name}-${index}`, [owner]);
      if (index === 0) await this.#member(`${name}-${index}-child`, [child]);
    }
    await this.#member(`${name}-shared`, [owner, other]);
    await this.#call("DELETE", `${maps}/${name}`, { propagationPolicy: policy });
    const names = Array.from({ length: count }, (_, index) => `${name}-${index}`);
    const left = policy === "Orphan" ? [...names, `${name}-0-child ${name}-0`] : [];
    const expected = [...left, `${name}-other`, `${name}-shared ${name}-other`].sort();
    let found: string[] = [];
    await this.#expect(`${policy} of ${name}: ${expected}`, async () => {
      const { json } = await this.#call("GET", `${maps}?labelSelector=family%3D${name}`);
      found = (json.items as Member[]).map(memberLine).sort();
      return found.join() === expected.join();
    });
    if (found.join() !== expected.join()) this.violations.push(`found ${found}`);
    await this.#call("DELETE", `${maps}?labelSelector=family%3D${name}`);
    await this.#expect(`${name} is gone`, async () => {
      const { json } = await this.#call("GET", `${maps}?labelSelector=family%3D${name}`);
      return json.items.length === 0;
    });
    this.counts.families += 1;
  }

  async #member(name: string, ownerReferences: readonly object[]): Promise<object> {
    const labels = { family: name.split("-")[0] };
    const made = await this.#make(maps, { metadata: { name, labels, ownerReferences } });
    return { apiVersion: "v1", kind: "ConfigMap", name, uid: made.metadata?.uid ?? "", blockOwnerDeletion: true };
  }
}

interface Csr {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly { readonly type: string }[] };
}

interface ClusterInfo {
  readonly data: Readonly<Record<string, string>>;
}

interface Member {
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly name: string }[];
  };
}

function memberLine({ metadata: { name, finalizers = [], ownerReferences = [] } }: Member): string {
  return [name, ...finalizers, ...ownerReferences.map((owner) => owner.name)].join(" ");
}

/** Whether a token signed the kubeconfig, computed as a node does. */
function isSigned(data: ClusterInfo["data"], id: string, secret: string): boolean {
  const header = Buffer.from(`{"alg":"HS256","kid":"${id}"}`).toString("base64url");
  const signed = `${header}.${Buffer.from(data["kubeconfig"] ?? "").toString("base64url")}`;
  const sum = createHmac("sha256", secret).update(signed).digest("base64url");
  return data[`jws-kubeconfig-${id}`] === `${header}..${sum}`;
}
