// What writes are made of: what all of one front share, what one asks for, and what comes of it.
import type { Admission } from "../../admission/table.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import type { Status } from "../../api/status.ts";
import type { User } from "../../api/user.ts";
import type { Value } from "../../api/value.ts";
import type { Authentication } from "../../authn/table.ts";
import type { GrantCheck } from "../../authz/escalation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Views } from "../../cache/view/view.ts";
import type { ServiceRanges } from "../../kinds/ranges.ts";
import type { AllocationMeter } from "../../observe/allocations.ts";
import type { Trace } from "../../observe/trace.ts";
import type { StoreClient } from "../../storage/client.ts";
import type { Guard } from "../../storage/store.ts";
import type { FieldReport, Sent } from "../body/body.ts";
import type { Permit } from "../exchange/permit.ts";

/** What reads the present state and commits a new one. */
export interface StoreAccess {
  readonly scheme: Scheme;
  readonly views: Views;
  readonly store: StoreClient;
  readonly clock: Clock;
}

/** What every write of one front shares. */
export interface WriteServices extends StoreAccess {
  readonly admission: Admission;
  /** What services get addresses and ports from. */
  readonly ranges: ServiceRanges;
  /** Counts addresses that are given out; absent: nothing does. */
  readonly allocations?: AllocationMeter | undefined;
  /** Asked about every object that is about to be written. */
  readonly checkGrants: GrantCheck;
  /** Merges what is big on other threads; absent: everything is merged here. */
  readonly merges?: MergePool | undefined;
  /** Reviews tokens, and signs those of service accounts. */
  readonly authn: Pick<Authentication, "review" | "accounts">;
}

/** One write: what it is about and on whose behalf. */
export interface WriteRequest {
  readonly resource: Resource;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  /** Empty for a create. */
  readonly name: string;
  /** The name in the path of a create, which only custom resources take there; left out: the object may have any. */
  readonly newName?: string | undefined;
  readonly user: User;
  /** What was authorized: every commit is checked against it. */
  readonly permit: Permit;
  /** Who owns what this write changes, in managedFields. */
  readonly manager: string;
  readonly dryRun: boolean;
  /** Where warnings of plugins go, for the headers of any answer; absent: they are dropped. */
  readonly heard?: string[] | undefined;
  /** CreateOptions and so on as a document, for admission; absent: all defaults. */
  readonly options?: Value | undefined;
  /** Where annotations of the audit event go; absent: nowhere. */
  readonly annotations?: Map<string, string> | undefined;
  /** The body as it came, where it may be merged on another thread. */
  readonly sent?: Sent | undefined;
  /** What is to be said about unknown and duplicate fields; absent: nothing. */
  readonly fields?: FieldReport | undefined;
  /** On the monotonic clock, in milliseconds: no try starts after it. */
  readonly deadline: number;
  readonly trace: Trace;
  /** The answer is the object in protobuf. */
  readonly inProtobuf?: boolean;
}

/** What of it a merge looks at. */
export type MergeRequest = Pick<
  WriteRequest,
  "resource" | "subresource" | "namespace" | "name" | "newName" | "manager" | "sent" | "fields" | "trace"
>;

/** What a merge needs besides: nothing of a front's own. */
export type Merging = Pick<StoreAccess, "scheme" | "clock">;

/** A write that may be a create, and what that depends on besides its own key; left out: nothing. */
export interface Guarded {
  readonly guard?: Guard | undefined;
}

/** What a commit asks of a write. */
export type CommitRequest = Guarded &
  Pick<WriteRequest, "resource" | "namespace" | "dryRun" | "permit" | "deadline" | "trace" | "inProtobuf"> & {
    /** Whom the commit is charged to; left out: the server itself. */
    readonly user?: User;
    /** What the object is of, at the stored version, where it is not the resource's message (codec/engine/outline.ts). */
    readonly outline?: Message;
  };

/** A write that succeeded. */
export interface Written {
  /** 200, 201 or 202. */
  readonly code: number;
  /** The object's JSON at the requested version, without a newline. */
  readonly body: Uint8Array;
  /** The same in protobuf, without an envelope, where the answer is that and it was at hand. */
  readonly message?: Uint8Array | undefined;
  /** Texts for Warning headers. */
  readonly warnings: readonly string[];
}

/** Where big writes are merged (request/write/offload.ts). */
export interface MergePool {
  /** Whether a body and what is stored are so big together that they belong there. */
  takes(bytes: number): boolean;
  /** As mergeHere(). */
  merge(
    request: WriteRequest,
    sent: Sent,
    current: { readonly text: string; readonly isOutdated: boolean } | undefined,
    warnings: string[],
  ): Promise<ApiObject | Status>;
}
