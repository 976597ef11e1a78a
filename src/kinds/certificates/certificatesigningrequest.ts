// CertificateSigningRequest: who asks is what the server saw; approval and signing come through subresources.
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from "../../api/gen/certificates/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import { setOf } from "../../merge/fieldset.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, elapsed, nameColumn, none } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext, UpdateStrategy } from "../strategy.ts";
import { validateSigningRequest, validateSigningRequestUpdate } from "./validation/certificatesigningrequest.ts";

/** Behaviour of certificate signing requests. */
export function certificateSigningRequestBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: signingRequestStrategy(resource),
    columns: signingRequestColumns(),
    resetFields: new Map([
      ["", setOf(["f:spec"], ["f:status"])],
      ["status", setOf(["f:spec"], ["f:status", "f:conditions"])],
      ["approval", setOf(["f:spec"], ["f:status", "f:certificate"])],
    ]),
    metaRules: { update: [1, 1], parts: { status: [1, 1], approval: [1, 1] }, nameLast: true },
  };
}

/** Signing requests: who asks is what the server saw, and a create or update neither approves nor signs. */
function signingRequestStrategy(resource: Resource): Strategy<CertificateSigningRequest> {
  return strategyFor<CertificateSigningRequest>(resource, {
    nameFormat: "path-segment",
    prepareForCreate({ user, gates }, request) {
      if (!gates.has("CSRDuration")) request.spec.expirationSeconds = undefined;
      request.spec = {
        ...request.spec,
        username: user.name,
        uid: user.uid,
        groups: user.groups.length > 0 ? [...user.groups] : undefined,
        extra: user.extra.size > 0 ? new Map([...user.extra].map(([key, values]) => [key, [...values]])) : undefined,
      };
    },
    prepareForUpdate(_context, request, old) {
      request.spec = old.spec;
    },
    prepareForStatus(context, request, old) {
      keepDecisions(request, old);
      fillTimes(context, request, old);
    },
    validate: validateSigningRequest,
    validateUpdate: (request, old) => validateSigningRequestUpdate(request, old, "request"),
    validateStatus: (request, old) => validateSigningRequestUpdate(request, old, "status"),
    subresources: new Map([["approval", approval]]),
    selectableFields: ({ spec }) => [["spec.signerName", spec.signerName]],
    fieldLabels: ["spec.signerName"],
  });
}

const approval: UpdateStrategy<CertificateSigningRequest> = {
  prepare(context, request, old) {
    request.spec = old.spec;
    request.status = { ...old.status, conditions: request.status.conditions };
    fillTimes(context, request, old);
  },
  validate: (_context, request, old) => validateSigningRequestUpdate(request, old, "approval"),
};

/** Decisions come in through the approval subresource; a status write that has as many of them leaves them as stored. */
function keepDecisions({ status }: CertificateSigningRequest, old: CertificateSigningRequest): void {
  for (const type of ["Approved", "Denied"]) {
    const stored = old.status.conditions?.filter((condition) => condition.type === type) ?? [];
    const sent = status.conditions?.filter((condition) => condition.type === type) ?? [];
    if (stored.length !== sent.length) continue;
    let next = 0;
    status.conditions = status.conditions?.map((c) => (c.type === type ? (stored[next++] ?? c) : c));
  }
}

/** Times a client leaves out are now; the time of a transition stays while the condition's status does. */
function fillTimes(
  { now }: StrategyContext,
  { status }: CertificateSigningRequest,
  old: CertificateSigningRequest,
): void {
  const known = new Map(
    old.status.conditions?.map((condition) => [`${condition.type}\n${condition.status}`, condition]),
  );
  status.conditions = status.conditions?.map((condition): CertificateSigningRequestCondition => {
    const same = known.get(`${condition.type}\n${condition.status}`);
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? same?.lastTransitionTime ?? now,
    };
  });
}

/** Columns of certificate signing requests. */
function signingRequestColumns(): Columns<CertificateSigningRequest> {
  return {
    columns: [
      nameColumn,
      ageColumn,
      column("SignerName", "Who is asked to sign", ({ spec }) => spec.signerName || none),
      column("Requestor", "User who asks", ({ spec }) => spec.username ?? ""),
      column("RequestedDuration", "How long the certificate should be valid", ({ spec }) =>
        spec.expirationSeconds === undefined ? none : elapsed(spec.expirationSeconds * 1000),
      ),
      column("Condition", "What became of the request", signingState),
    ],
  };
}

function signingState({ status }: CertificateSigningRequest): string {
  const has = (wanted: string) => (status.conditions ?? []).some(({ type }) => type === wanted);
  const state = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  return `${state}${has("Failed") ? ",Failed" : ""}${status.certificate ? ",Issued" : ""}`;
}
