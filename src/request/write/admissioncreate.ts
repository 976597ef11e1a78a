// What a plugin creates on the server's behalf: one object through the whole write path, plugins included.
import type { Environment } from "../../admission/plugin.ts";
import { badRequest, isStatus, notFound } from "../../api/status.ts";
import { systemUser } from "../../api/user.ts";
import { Fault } from "../../codec/engine/json.ts";
import { limits } from "../../config/limits.ts";
import { noTrace } from "../../observe/trace.ts";
import { Body, decodeAs } from "../body/body.ts";
import type { WriteServices } from "../commit/writerequest.ts";
import { serverPermit } from "../exchange/permit.ts";
import { createObject } from "./write.ts";

/** Makes Environment.create; `writersOf` is asked at each call, because writers have plugins. */
export function creator(writersOf: () => WriteServices): Environment["create"] {
  return async (content, group, version, plural) => {
    const writers = writersOf();
    const { identity } = writers.scheme;
    const spelled = group === "" ? "" : identity.spell(group);
    const resource = writers.scheme.find(spelled, version, plural);
    if (resource === undefined) return notFound({ group: spelled, resource: plural }, "");
    const decoded = decodeAs(resource, content);
    if (decoded instanceof Fault) return badRequest(decoded.message);
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
    const done = await createObject(writers, request, new Body(resource, content, decoded));
    return isStatus(done) ? done : undefined;
  };
}
