// What a front needs to answer requests: made once per front thread and handed to every stage that asks for its part.
import type { Extensions } from "../../aggregation/extensions.ts";
import type { Identity } from "../../api/identity.ts";
import type { Registry } from "../../api/registry.ts";
import type { Auditor } from "../../audit/auditor.ts";
import type { Authentication } from "../../authn/table.ts";
import type { Authorizer } from "../../authz/authorizer.ts";
import type { Roles, RuleResolver } from "../../authz/rules.ts";
import type { Clock } from "../../base/clock.ts";
import type { Fanout } from "../../cache/fanout/fanout.ts";
import type { Objects } from "../../cache/view/objects.ts";
import type { Views } from "../../cache/view/view.ts";
import type { AdmissionConfig } from "../../config/config.ts";
import type { FlowControl } from "../../flowcontrol/flowcontrol.ts";
import type { Refusals } from "../../flowcontrol/refusals.ts";
import type { Shedding } from "../../flowcontrol/shedding.ts";
import type { Widths } from "../../flowcontrol/width.ts";
import type { ServiceRanges } from "../../kinds/ranges.ts";
import type { AdmissionMeter } from "../../observe/admission.ts";
import type { AllocationMeter } from "../../observe/allocations.ts";
import type { Gathered, GatheredPage } from "../../observe/gathered.ts";
import type { Observer } from "../../observe/requests.ts";
import type { Tracer } from "../../observe/spans.ts";
import type { StoreClient } from "../../storage/client.ts";
import type { WriteServices } from "../commit/writerequest.ts";
import type { Merges } from "../write/offload.ts";
import type { Bounds, Inflight } from "./holdings.ts";

/** An answer of an endpoint that is no resource. */
export interface Page {
  readonly code: number;
  readonly contentType: string;
  readonly body: string;
}

/** Flow control of a front. */
export interface FlowParts {
  readonly control: FlowControl;
  readonly widths: Widths;
  /** How many fronts there are: each knows its own watches only. */
  readonly fronts: number;
  /** Headers that name the schema and the level of a request. */
  readonly headers: { readonly schema: string; readonly level: string };
  /** The text of a dump; undefined: there is no such dump. */
  readonly dump: (name: string, withDetails: boolean) => Promise<string | undefined>;
}

/** What a front or the controllers' thread opens to serve requests from. */
export interface ServerParts {
  readonly identity: Identity;
  /** What is served. */
  readonly scheme: Registry;
  readonly views: Views;
  /** The watches of this front. */
  readonly fanout: Fanout;
  readonly store: StoreClient;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Takes spans of requests; undefined: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Seats of requests under way on this front. */
  readonly inflight: Inflight;
  /** Seats by priority and fairness; left out: `inflight` alone bounds requests. */
  readonly flow?: FlowParts | undefined;
  /** Refuses requests while the event loop is late; left out: nothing does. */
  readonly shedding?: Shedding | undefined;
  /** Holds back refusals of who is refused often; left out: all are answered at once. */
  readonly refusals?: Refusals | undefined;
  /** Whether a response, of no watch, ends its connection; left out: none does. */
  readonly ends?: (() => boolean) | undefined;
  /** What else requests hold, divided among users. */
  readonly bounds: Bounds;
  /** Everything but watches is answered by then, milliseconds. */
  readonly requestMsMax: number;
  /** Says who sends a request, reviews tokens, and signs those of service accounts. */
  readonly authn: Authentication;
  /** Decides about every request, and what admission asks. */
  readonly authorizer: Authorizer;
  /** Who holds which rules, for writes of roles and bindings. */
  readonly roles: Roles;
  /** What a user may do, as far as the authorization modes can list it. */
  readonly rules: RuleResolver;
  /** Decoded objects for authentication, authorization and admission. */
  readonly objects: Objects;
  /** Servers that answer for API services. */
  readonly extensions: Extensions;
  readonly admission: AdmissionConfig;
  /** Counts what plugins take; left out: it is not counted. */
  readonly meter?: AdmissionMeter;
  /** Undefined: nothing is audited. */
  readonly audit?: Auditor | undefined;
  /** Merges what is big on other threads; absent: everything is merged here. */
  readonly merges?: Merges | undefined;
  /** What services get addresses and ports from. */
  readonly ranges: ServiceRanges;
  /** Counts addresses of them that are given out; left out: nothing does. */
  readonly allocations?: AllocationMeter | undefined;
  /** `host:port` for discovery's server addresses. */
  readonly serverAddress: string;
  /** `/livez…`, `/readyz…`, `/healthz…` (path and query decoded); undefined: no such check. */
  readonly health: (path: string, verbose: boolean, exclude: readonly string[]) => Promise<Page> | undefined;
  /** A page about every thread of the server; gzipped where that is asked for. */
  readonly gathered: (page: GatheredPage, gzips: boolean) => Promise<Gathered>;
  /** Sets how much every thread logs, as `-v` does at the start. */
  readonly setVerbosity: (verbosity: number) => void;
  /** `/version`, as JSON. */
  readonly version: string;
}

/** Everything a front serves requests from. */
export interface Server extends ServerParts {
  /** What its writes share, built once with it. */
  readonly writers: WriteServices;
}
