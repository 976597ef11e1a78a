// What the main thread, the fronts and the store thread tell each other. Everything here is copied between threads:
// plain data, shared buffers and ports only.
import type { MessagePort } from "node:worker_threads";
import type { AuthnMaterial } from "../authn/table.ts";
import type { AuthorizationFiles } from "../authz/files.ts";
import type { Forms } from "../cache/shared/selections.ts";
import type { Config, FrontName } from "../config/config.ts";
import type { LevelDump } from "../flowcontrol/dump.ts";
import type { TlsFiles } from "../http/listener.ts";
import type { FrontDetail } from "../observe/console/detail.ts";
import type { Gathered, GatheredPage } from "../observe/gathered.ts";
import type { FamilySnapshot } from "../observe/metrics.ts";
import type { FlameNode } from "../observe/profile.ts";
import type { SpanRecord } from "../observe/spans.ts";
import type { Connection } from "../outbound/client.ts";
import type { EncryptionConfig } from "../storage/encryption/configuration.ts";
import type { StoreTraits } from "../storage/port.ts";
import type { Encryption, KmsChecks } from "./encryptionfile.ts";

/** A listener a front is to open. */
export interface ListenerPlan {
  readonly front: FrontName;
  readonly port: number;
  /** Other fronts open the same port. */
  readonly reusePort: boolean;
}

/** Worker data of a front, or of the thread of the controllers, which is a front without a listener. */
export interface FrontData {
  readonly config: Config;
  /** Of the thread, in logs and metrics. */
  readonly name: string;
  /** Runs what a server does on its own behalf (boot/controllers.ts). */
  readonly controls: boolean;
  readonly listeners: readonly ListenerPlan[];
  /** Connections it may have open: boot/descriptors.ts. */
  readonly connectionsMax: number;
  readonly tls: TlsFiles;
  /** PEM that clients, pods among them, verify this server by. */
  readonly authority: string;
  /** Names this process among all that ever served this store. */
  readonly holder: string;
  readonly authn: AuthnMaterial;
  readonly authz: AuthorizationFiles;
  /** `host:port` clients are told to use. */
  readonly serverAddress: string;
  /** When the process began, milliseconds of the wall clock. */
  readonly startedMs: number;
  /** Signs of life of all fronts: boot/beats.ts. */
  readonly beats: SharedArrayBuffer;
  /** Steps of the start that are done: boot/started.ts. */
  readonly started: SharedArrayBuffer;
  /** Health checks of KMS plugins; undefined: there are none. */
  readonly kms: KmsChecks | undefined;
  /** LogWriter.control, for openViews(). */
  readonly control: SharedArrayBuffer;
  /** Seats of priority levels: flowcontrol/seats.ts. */
  readonly seats: SharedArrayBuffer;
  /** What the store is like. */
  readonly store: StoreTraits;
  /** To the store's loop: commits. */
  readonly storePort: MessagePort;
  /** To the store's logs: cache/messages.ts. */
  readonly logPort: MessagePort;
  /** What is audited, and where events go; undefined: nothing is. */
  readonly audit?: FrontAudit | undefined;
}

/** What a front audits by. */
export interface FrontAudit {
  /** The text of the policy, which main checked. */
  readonly policy: Uint8Array;
  /** To the thread that writes events: audit/messages.ts. */
  readonly port: MessagePort;
}

/** Worker data of the thread that writes audit events. */
export interface AuditData {
  readonly config: Config;
  /** Of the webhook. */
  readonly connection: Connection | undefined;
}

/** Worker data of the store thread. */
export interface StoreData {
  readonly config: Config;
  /** Undefined: nothing is encrypted. */
  readonly encryption: Encryption | undefined;
  /** By what form each kind derives side-tables: the thread that reads them has no kinds. */
  readonly forms: Forms;
}

/** Main to a thread of any kind. */
export type ToThread =
  /** Send the metrics of this thread; a front also sends what it keeps for the console, where that is asked for. */
  | { readonly kind: "collect"; readonly id: number; readonly detailed: boolean }
  /** Take a CPU profile for so long, and send it. */
  | { readonly kind: "profile"; readonly id: number; readonly seconds: number }
  /** The spans it sent are taken: it may send more. */
  | { readonly kind: "spansTaken" }
  /** End the thread: a front cuts what is left, others finish it. */
  | { readonly kind: "close" };

/** A thread of any kind to main. */
export type FromThread =
  /** It cannot be opened, and why in one line for the operator. */
  | { readonly kind: "failed"; readonly message: string }
  /** A bug: it has closed what others see of it, and ends. */
  | { readonly kind: "crashed"; readonly error: string }
  | { readonly kind: "profiled"; readonly id: number; readonly tree: FlameNode | undefined }
  /** Spans that are over; answered by "spansTaken" when more are wanted. */
  | { readonly kind: "spans"; readonly spans: readonly SpanRecord[] }
  | ({ readonly kind: "collected"; readonly id: number } & Collected);

/** What a thread tells of itself. */
export interface Collected {
  readonly families: readonly FamilySnapshot[];
  /** Of a front that was asked for it. */
  readonly detail?: FrontDetail | undefined;
}

/** Main to a front. */
export type ToFront =
  | ToThread
  /** The server is going down: /readyz says so. */
  | { readonly kind: "shutdown" }
  /** Take no further connections, end streams at this pace, answer "drained" when nothing is left. */
  | { readonly kind: "drain"; readonly streamsPerSecond: number }
  /** From now on log at this level. */
  | { readonly kind: "level"; readonly level: string }
  /** Tell of the levels of this front; the answer is "dumped". */
  | { readonly kind: "dump"; readonly id: number }
  /** The answer to "dumps". */
  | { readonly kind: "dumps"; readonly id: number; readonly dumps: readonly (readonly LevelDump[])[] }
  /** The slot of a level's seats; undefined: there is none left. */
  | { readonly kind: "slot"; readonly level: string; readonly slot: number | undefined }
  /** The answer to "gather". */
  | { readonly kind: "gathered"; readonly id: number; readonly answer: Gathered };

/** What only a front tells main. */
export type OfFront =
  /** Its listeners are open. */
  | { readonly kind: "listening" }
  | { readonly kind: "drained" }
  /** An administrator wants every thread to log at this level. */
  | { readonly kind: "level"; readonly level: string }
  /** It uses the seats of a level from now on, or not any more. */
  | { readonly kind: "slot"; readonly level: string; readonly opens: boolean }
  /** The answer to "dump". */
  | { readonly kind: "dumped"; readonly id: number; readonly levels: readonly LevelDump[] }
  /** A client asked for the levels of all fronts. */
  | { readonly kind: "dumps"; readonly id: number }
  /** A client asked for this page: collect from every thread, and write it. */
  | { readonly kind: "gather"; readonly id: number; readonly page: GatheredPage; readonly gzip: boolean };

/** A front to main. */
export type FromFront = FromThread | OfFront;

/** Main to the store thread; on "close" it commits what is queued. */
export type ToStore =
  | ToThread
  /** A front is about to start, or to start again. */
  | { readonly kind: "front"; readonly storePort: MessagePort; readonly logPort: MessagePort }
  /** Encrypt by this from now on; answered by "encrypts". */
  | { readonly kind: "encrypt"; readonly config: EncryptionConfig };

/** What only the store thread tells main. */
export type OfStore =
  /** The store is open and its logs are filled. */
  | { readonly kind: "opened"; readonly control: SharedArrayBuffer; readonly traits: StoreTraits }
  /** The answer to "encrypt": why everything stays as it was, or undefined. */
  | { readonly kind: "encrypts"; readonly fault: string | undefined };

/** The store thread to main. */
export type FromStore = FromThread | OfStore;

/** Main to the thread that writes audit events; on "close" it writes what waits, within limits.auditEndMsMax. */
export type ToAudit =
  | ToThread
  /** A front is about to start, or to start again. */
  | { readonly kind: "front"; readonly port: MessagePort }
  | { readonly kind: "level"; readonly level: string };

/** What only the thread that writes audit events tells main: its backends are open. */
export interface OfAudit {
  readonly kind: "opened";
}

/** The thread that writes audit events to main. */
export type FromAudit = FromThread | OfAudit;
