// What all writes of one thread share, built once when its server is: the admission plugins, and what they may change on
// the server's own behalf.
import type { Environment } from "../../admission/plugin.ts";
import { createAdmission } from "../../admission/table.ts";
import type { Identity } from "../../api/identity.ts";
import { badRequest, isStatus, notFound } from "../../api/status.ts";
import { systemUser } from "../../api/user.ts";
import type { Authorizer } from "../../authz/authorizer.ts";
import { createGrantCheck } from "../../authz/escalation.ts";
import type { Roles } from "../../authz/rules.ts";
import type { Objects } from "../../cache/view/objects.ts";
import { Fault } from "../../codec/engine/json.ts";
import type { AdmissionConfig } from "../../config/config.ts";
import { limits } from "../../config/limits.ts";
import type { AdmissionMeter } from "../../observe/admission.ts";
import { noTrace } from "../../observe/trace.ts";
import { bodyOf } from "../body/body.ts";
import { changed, InDoubt, storeUnavailable } from "../commit/attempts.ts";
import { commitObject, readCurrent } from "../commit/objectstore.ts";
import type { StoreAccess, WriteServices } from "../commit/writerequest.ts";
import { serverPermit } from "../exchange/permit.ts";
import { writeObject } from "./write.ts";

/** What write services are built from. */
export interface WriteParts extends Omit<WriteServices, "admission" | "checkGrants"> {
  readonly identity: Identity;
  readonly objects: Objects;
  readonly authorizer: Authorizer;
  readonly roles: Roles;
  readonly admission: AdmissionConfig;
  /** Counts what plugins take; left out: nothing is counted. */
  readonly meter?: AdmissionMeter;
}

/** Builds them. Plugins hold connections and timers: closeAdmission() ends these. */
export function createWriteServices(parts: WriteParts): WriteServices {
  const { scheme, views, store, clock, ranges, allocations, authn, merges } = parts;
  const { identity, objects, authorizer, roles, admission: config, meter } = parts;
  const commit = committer({ scheme, views, store, clock });
  const create = creator(() => services);
  const services: WriteServices = {
    scheme,
    views,
    store,
    clock,
    ranges,
    allocations,
    authn,
    merges,
    admission: createAdmission({ scheme, identity, objects, clock, authorizer, config, commit, create }, meter),
    checkGrants: createGrantCheck(identity, authorizer, roles),
  };
  return services;
}

/** Makes Environment.create: one object through the whole write path. Plugins are built before the services they use. */
function creator(services: () => WriteServices): Environment["create"] {
  return async (content, group, version, plural) => {
    const writers = services();
    const { identity } = writers.scheme;
    const spelled = group === "" ? "" : identity.spell(group);
    const resource = writers.scheme.find(spelled, version, plural);
    if (resource === undefined) return notFound({ group: spelled, resource: plural }, "");
    const body = bodyOf(resource, content);
    if (body instanceof Fault) return badRequest(body.message);
    const request = {
      resource,
      subresource: "",
      namespace: "",
      name: "",
      user: systemUser(identity),
      permit: serverPermit,
      manager: identity.spell("kube-apiserver"),
      dryRun: false,
      deadline: writers.clock.monotonic() + limits.requestMsMax,
      trace: noTrace,
    };
    const done = await writeObject(writers, request, body);
    return isStatus(done) ? done : undefined;
  };
}

/** Makes Environment.commit. */
function committer(writers: StoreAccess): Environment["commit"] {
  return async (object, group, version, resource) => {
    const { scheme } = writers;
    const stored = scheme.find(group === "" ? "" : scheme.identity.spell(group), version, resource)?.stored;
    const { name = "", namespace = "", resourceVersion } = object.metadata;
    if (stored === undefined) return "gone";
    const current = readCurrent(writers, stored, namespace, name);
    if (current === undefined) return "gone";
    if (String(current.revision) !== resourceVersion) return "conflict";
    const deadline = Number.POSITIVE_INFINITY;
    const request = { resource: stored, namespace, dryRun: false, permit: serverPermit, deadline, trace: noTrace };
    try {
      const done = await commitObject(writers, request, name, object, current);
      if (done === changed) return "conflict";
      return isStatus(done) ? done : "done";
    } catch (error) {
      // The write that is being admitted is not made.
      if (error instanceof InDoubt) return storeUnavailable;
      throw error;
    }
  };
}
