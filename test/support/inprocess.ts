// The whole request path in this thread: handler, write path, real codec, kinds and logs, over a store in memory.
// Requests are made without sockets; commits are seen at once and can be made to fail or to lose a race.
import { MessageChannel } from "node:worker_threads";
import { Extensions } from "../../src/aggregation/extensions.ts";
import type { Refused } from "../../src/aggregation/remotedocuments.ts";
import { type IdentityName, identities } from "../../src/api/identity.ts";
import { Registry as ResourceRegistry } from "../../src/api/registry.ts";
import { createScheme, type SchemeOptions } from "../../src/api/scheme.ts";
import type { User } from "../../src/api/user.ts";
import type { Auditor } from "../../src/audit/auditor.ts";
import type { Credentials } from "../../src/authn/authenticator.ts";
import type { Sender } from "../../src/authn/table.ts";
import { type Authorizer, alwaysAllow } from "../../src/authz/authorizer.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import type { Clock } from "../../src/base/clock.ts";
import type { Owner } from "../../src/base/shares.ts";
import { Fanout } from "../../src/cache/fanout/fanout.ts";
import { Objects } from "../../src/cache/view/objects.ts";
import { type OpenViews, openViews } from "../../src/cache/view/views.ts";
import { LogWriter, type WriterStats } from "../../src/cache/writer/writer.ts";
import { type AggregationConfig, defaultAggregation } from "../../src/config/aggregationflags.ts";
import { type AdmissionConfig, defaultAdmission } from "../../src/config/config.ts";
import { limits } from "../../src/config/limits.ts";
import { bootstrapNamespaces } from "../../src/controllers/bootstrap.ts";
import { ofLength } from "../../src/http/streams.ts";
import { defaultRanges, parseRanges } from "../../src/kinds/ranges.ts";
import { admissionMeter } from "../../src/observe/admission.ts";
import type { Registry } from "../../src/observe/metrics.ts";
import { openApiMeter } from "../../src/observe/openapi.ts";
import type { Observer, RequestRecord } from "../../src/observe/requests.ts";
import type { Tracer } from "../../src/observe/spans.ts";
import type { Server, ServerParts } from "../../src/request/call/context.ts";
import { type Bounds, createBounds, Inflight } from "../../src/request/call/holdings.ts";
import { claimPrefixes } from "../../src/request/commit/serviceallocations.ts";
import type { WriteServices } from "../../src/request/commit/writerequest.ts";
import type { AnswerStream, Exchange, Handler, Headers } from "../../src/request/exchange/transport.ts";
import { createHandler } from "../../src/request/handle.ts";
import { newestOf } from "../../src/request/read/freshness.ts";
import { followApiServices } from "../../src/request/route/apiservices.ts";
import { followDefinitions } from "../../src/request/route/definitions.ts";
import type { Merges } from "../../src/request/write/offload.ts";
import { createWriteServices } from "../../src/request/write/services.ts";
import type { StoreClient } from "../../src/storage/client.ts";
import { PortClient } from "../../src/storage/port.ts";
import { type StoreLoop, serveStore } from "../../src/storage/serve.ts";
import { type Change, changeTypes, type Outcome } from "../../src/storage/store.ts";
import { type SharedStore, sharedTraits } from "../servers/sharedmemory.ts";
import { testAuthentication } from "./authn.ts";

/** An answer; `json` is undefined when the body is none. */
export interface Answer {
  readonly code: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
}

/** A store in memory that publishes to the shared logs as the real one does. */
export class MemoryStore implements StoreClient {
  revision = 0;
  /** Changes made, oldest first. */
  readonly changes: Change[] = [];
  /** Asked before each commit; an answer other than undefined is the outcome. It may commit something else first. */
  before: ((change: Change, owner?: Owner) => Outcome | undefined | Promise<Outcome | undefined>) | undefined;
  readonly #writer: LogWriter;
  readonly #keys = new Map<string, { revision: number; createRevision: number; last: number }>();

  constructor(writer: LogWriter) {
    this.#writer = writer;
  }

  async commit(change: Change, owner?: Owner): Promise<Outcome> {
    const asked = this.before?.(change, owner);
    const refused = asked instanceof Promise ? await asked : asked;
    return refused ?? this.apply(change);
  }

  /** Commits without admission or authorization. */
  apply(change: Change): Outcome {
    const known = this.#keys.get(change.key);
    const actual = known?.revision ?? 0;
    if (!this.#writer.expect(change.prefix)) return { refused: "no-log", message: change.prefix };
    this.#writer.settled(change.prefix);
    if (actual !== change.expected) return { actual };
    const revision = ++this.revision;
    const gone = change.type === changeTypes.delete;
    const createRevision = actual === 0 ? revision : (known?.createRevision ?? revision);
    const text = Buffer.from(change.body);
    const digits = Buffer.from(String(revision));
    const body = Buffer.concat([text.subarray(0, change.versionAt), digits, text.subarray(change.versionAt)]);
    this.#writer.accept([{ ...change, body, revision, createRevision, previous: known?.last ?? 0 }]);
    this.#keys.set(change.key, { revision: gone ? 0 : revision, createRevision, last: revision });
    this.changes.push({ ...change, body: text });
    return { revision };
  }
}

const administrator: User = { name: "admin", uid: "", groups: ["system:masters"], extra: new Map() };

/** A server without sockets. */
export class InProcess {
  readonly scheme: ResourceRegistry;
  readonly store: MemoryStore;
  readonly writers: WriteServices;
  /** Nothing ticks: a test ends watches with closeAll(). */
  readonly fanout: Fanout;
  /** The wall clock, in milliseconds. */
  nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  /** The monotonic clock runs by itself; this is added. */
  aheadMs = 0;
  readonly faults: unknown[] = [];
  /** Documents of extension servers that were not used. */
  readonly refusedDocuments: Parameters<Refused>[0][] = [];
  /** Who asks; an administrator unless a test says otherwise. */
  user = administrator;
  /** Credentials are wrong. */
  stranger = false;
  /** What comes of credentials that are not looked at. */
  authenticate: (credentials: Credentials) => Sender | Promise<Sender> = () => (this.stranger ? undefined : this.user);
  /** Credentials are looked at: who asks is who they say. */
  checks = false;
  /** Who decides what they may do; every user may do everything unless a test says otherwise. */
  authorizer: Authorizer = alwaysAllow;
  readonly objects: Objects;
  /** Writes down what requests do, when set. */
  audit: Auditor | undefined;
  /** Counts, too, when set. */
  observer: Observer | undefined;
  /** What /debug/flags/v set. */
  verbosity: number | undefined;
  /** What was reported of the request before. */
  lastRecord: RequestRecord | undefined;
  /** What controllers are made of. */
  readonly server: Server;
  readonly #handler: Handler;
  readonly views: OpenViews;
  /** Of a store behind a loop. */
  loop: StoreLoop | undefined;
  readonly #writer: LogWriter;

  constructor(
    scheme: ResourceRegistry,
    writer: LogWriter,
    views: OpenViews,
    admission: AdmissionConfig,
    {
      merges,
      registry,
      inflight,
      bounds,
      aggregation,
      tracer,
    }: Pick<InProcessOptions, "merges" | "registry" | "inflight" | "bounds" | "aggregation" | "tracer"> = {},
    client?: StoreClient,
  ) {
    this.#writer = writer;
    this.views = views;
    this.scheme = scheme;
    this.store = new MemoryStore(writer);
    const clock: Clock = { now: () => this.nowMs, monotonic: () => performance.now() + this.aheadMs };
    const ranges = parseRanges(defaultRanges.addresses, defaultRanges.ports);
    if (typeof ranges === "string") throw new Error(ranges);
    this.fanout = new Fanout({ clock });
    this.objects = new Objects(this.scheme, views);
    followDefinitions(this.scheme, this.objects, clock);
    followApiServices(this.scheme, this.objects);
    const rbac = new Rbac(this.scheme.identity, this.objects);
    const newest = newestOf(client ?? this.store);
    const authn = testAuthentication(this.scheme, views, clock, undefined, undefined, undefined, undefined, newest);
    const auditor = (): Auditor | undefined => this.audit;
    const parts: ServerParts = {
      get audit() {
        return auditor();
      },
      identity: scheme.identity,
      scheme,
      views,
      fanout: this.fanout,
      store: client ?? this.store,
      clock,
      tracer,
      observer: {
        started: (kind, target) => this.observer?.started(kind, target),
        finished: (kind, record) => {
          this.lastRecord = record;
          this.observer?.finished(kind, record);
        },
        logs: (kind, end) => this.observer?.logs(kind, end) ?? false,
        listed: (prefix, objects) => this.observer?.listed(prefix, objects),
        deprecated: (...words) => this.observer?.deprecated(...words),
        fault: (id, error) => {
          this.faults.push(error);
          this.observer?.fault(id, error);
        },
      },
      inflight: inflight ?? new Inflight(0, 0),
      bounds: bounds ?? createBounds(),
      requestMsMax: limits.requestMsMax,
      authn: {
        ...authn,
        authenticate: (credentials) => {
          if (this.checks) return authn.authenticate(credentials);
          return this.authenticate(credentials);
        },
      },
      authorizer: { authorize: (attributes) => this.authorizer.authorize(attributes) },
      roles: rbac,
      rules: rbac,
      objects: this.objects,
      extensions: new Extensions(
        {
          clock,
          config: { ...defaultAggregation, ...aggregation },
          refused: (about) => void this.refusedDocuments.push(about),
          ...(registry === undefined ? {} : { meter: openApiMeter(registry) }),
        },
        this.objects,
      ),
      admission,
      ...(registry === undefined ? {} : { meter: admissionMeter(registry, clock) }),
      merges,
      ranges,
      serverAddress: "127.0.0.1:6443",
      health: () => undefined,
      gathered: () => Promise.resolve({ code: 200, body: new Uint8Array(0), isGzipped: false }),
      setVerbosity: (verbosity) => {
        this.verbosity = verbosity;
      },
      version: "{}",
    };
    this.writers = createWriteServices(parts);
    // Nothing is copied: whether requests are audited is asked anew for each.
    this.server = Object.assign(parts, { writers: this.writers });
    this.#handler = createHandler(this.server);
  }

  /** Sends one request; an object as body is sent as JSON, text and bytes as they are. `more`: parts of another exchange, of this call only. */
  call(
    method: string,
    target: string,
    body?: unknown,
    headers: Record<string, string> = {},
    more: Partial<Exchange> = {},
  ): Promise<Answer> {
    const [path = "", query = ""] = target.split("?");
    const sent = bytesOf(body);
    const all: [string, string][] = Object.entries({
      ...(body === undefined ? {} : { "content-type": "application/json", "content-length": String(sent.length) }),
      ...headers,
    });
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      const done = (code: number, head: Headers): void => {
        const bytes = Buffer.concat(chunks);
        const answer = bytes.toString();
        resolve({ code, headers: head, bytes, text: answer, json: parse(answer) });
      };
      const exchange: Exchange = {
        method,
        path,
        query,
        remote: "127.0.0.1:1",
        header: (name) => all.find(([key]) => key === name)?.[1],
        headers: all,
        peer: undefined,
        body: (bytesMax) => Promise.resolve(sent.length > bytesMax ? "too-large" : sent),
        aborted: false,
        onAbort: () => undefined,
        send: (code, head, answer) => {
          chunks.push(Buffer.from(answer));
          done(code, head);
        },
        stream: (code, head, { length } = {}) => {
          const headers: Headers = length === undefined ? head : [...head, ["Content-Length", String(length)]];
          const stream: AnswerStream = {
            write: (chunk) => chunks.push(Buffer.from(chunk)) > 0,
            onDrain: () => undefined,
            end: () => done(code, headers),
            abort: () => done(0, headers),
          };
          return length === undefined ? stream : ofLength(stream, length);
        },
      };
      this.#handler(Object.setPrototypeOf(more, exchange) as Exchange);
    });
  }

  /** Figures of the logs. */
  logStats(): WriterStats {
    return this.#writer.stats();
  }

  close(): void {
    this.views.close();
    this.#writer.stop();
    void this.loop?.stop();
  }
}

function bytesOf(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a server in a test is started with. */
export interface InProcessOptions extends Omit<SchemeOptions, "identity"> {
  /** Beside the flags' defaults; left out: what completes pods is off, and a test of something else sees what it wrote. */
  readonly admission?: Partial<AdmissionConfig>;
  /** What merges on other threads; left out: nothing does. Whoever brings it closes it. */
  readonly merges?: Merges | undefined;
  /** Seats; left out: there is no limit. */
  readonly inflight?: Inflight;
  /** What else users share; left out: the server's own bounds. */
  readonly bounds?: Bounds;
  /** How extension servers are reached, beside the flags' defaults. */
  readonly aggregation?: Partial<AggregationConfig>;
  /** What admission counts into; left out: it is not counted. */
  readonly registry?: Registry | undefined;
  /** Takes spans of requests; left out: nobody does. */
  readonly tracer?: Tracer | undefined;
  /** A store that other servers write, too, behind the store thread's loop; left out: the simple one of `server.store`. */
  readonly shared?: SharedStore | undefined;
}

/** Starts one, with the system's namespaces. */
export async function openInProcess(
  identity: IdentityName = "kubernetes",
  {
    admission = { disabled: completions },
    merges,
    registry,
    inflight,
    bounds,
    aggregation,
    tracer,
    shared,
    ...options
  }: InProcessOptions = {},
): Promise<InProcess> {
  const scheme = new ResourceRegistry(createScheme({ identity: identities[identity], ...options }));
  const prefixes = new Set(scheme.resources.flatMap(({ prefix }) => (prefix === undefined ? [] : [prefix])));
  const writer = new LogWriter({ prefixes: [...prefixes, ...Object.values(claimPrefixes)] });
  const served = shared && (await serveShared(shared, writer));
  const { port1, port2 } = new MessageChannel();
  writer.connect(port1);
  const views = await openViews({ control: writer.control, port: port2 });
  const server = new InProcess(
    scheme,
    writer,
    views,
    { ...defaultAdmission, ...admission },
    {
      merges,
      registry,
      tracer,
      ...(aggregation && { aggregation }),
      ...(inflight && { inflight }),
      ...(bounds && { bounds }),
    },
    served?.client,
  );
  server.loop = served?.loop;
  await bootstrapNamespaces(server.writers);
  return server;
}

/** The store thread's side of a server, in this thread. */
async function serveShared(store: SharedStore, writer: LogWriter): Promise<{ client: PortClient; loop: StoreLoop }> {
  const after = await writer.load(store);
  const loop = await serveStore({
    store,
    traits: sharedTraits,
    after,
    publish: (records, revision) => writer.accept(records, revision),
    prefixes: writer,
  });
  const { port1, port2 } = new MessageChannel();
  loop.add(port2);
  return { client: new PortClient(port1, limits, { isShared: true, hasPast: true, overlap: 1 }), loop };
}

/** Plugins that complete pods. */
const completions = ["ServiceAccount", "Priority", "DefaultTolerationSeconds"];

/** Waits for a condition, at most `limitMs`. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (await condition()) return true;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return false;
}
