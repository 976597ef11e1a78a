// NetworkPolicy: which peers may talk to which pods.
import { at, type FieldError, forbiddenField, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from "../../api/gen/networking/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import { contains, parseCidr } from "../address.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, selector } from "../columns.ts";
import { isPortName, isPortNumber } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { type Errors, eachItem, faults } from "../validation/check.ts";
import { checkLabelSelector } from "../validation/selector.ts";

/** Behaviour of network policies. */
export function networkPolicyBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: networkPolicyStrategy(resource),
    columns: networkPolicyColumns(),
    metaRules: { update: [1, 1] },
  };
}

function networkPolicyStrategy(resource: Resource): Strategy<NetworkPolicy> {
  return strategyFor<NetworkPolicy>(resource, {
    counts: ["spec"],
    validate: validateNetworkPolicy,
    validateUpdate(object) {
      const errors = validateNetworkPolicy(object);
      return [...errors, ...errors];
    },
  });
}

/** Columns of network policies. */
function networkPolicyColumns(): Columns<NetworkPolicy> {
  return {
    columns: [
      nameColumn,
      column("Pod-Selector", "Labels of the pods the policy is for", ({ spec }) => selector(spec.podSelector)),
      ageColumn,
    ],
  };
}

/** Rules of a NetworkPolicy, new or changed. */
export function validateNetworkPolicy({ spec }: NetworkPolicy): FieldError[] {
  const out: Errors = [];
  checkLabelSelector(out, "spec.podSelector", spec.podSelector);
  eachItem(out, spec.ingress, "spec.ingress", (rule, path) => {
    eachItem(out, rule.ports, `${path}.ports`, (port, place) => checkPolicyPort(out, place, port));
    eachItem(out, rule.from, `${path}.from`, (peer, place) => checkPeer(out, place, peer));
  });
  eachItem(out, spec.egress, "spec.egress", (rule, path) => {
    eachItem(out, rule.ports, `${path}.ports`, (port, place) => checkPolicyPort(out, place, port));
    eachItem(out, rule.to, `${path}.to`, (peer, place) => checkPeer(out, place, peer));
  });
  const types = spec.policyTypes ?? [];
  if (types.length > 2) {
    out.push(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"));
    return out;
  }
  for (const [i, type] of types.entries()) {
    const known = ["Ingress", "Egress"];
    if (!known.includes(type)) out.push(notSupported(at("spec.policyTypes", i), type, known));
  }
  return out;
}

function checkPolicyPort(out: Errors, path: string, { protocol, port, endPort }: NetworkPolicyPort): void {
  const protocols = ["TCP", "UDP", "SCTP"];
  if (protocol !== undefined && !protocols.includes(protocol)) {
    out.push(notSupported(`${path}.protocol`, protocol, protocols));
  }
  const last = `${path}.endPort`;
  if (typeof port === "number") {
    faults(out, `${path}.port`, port, isPortNumber(port));
    if (endPort === undefined) return;
    if (endPort < port) out.push(invalid(last, port, "must be greater than or equal to `port`"));
    faults(out, last, endPort, isPortNumber(endPort));
  } else if (port !== undefined) {
    if (endPort !== undefined) out.push(invalid(last, endPort, "may not be specified when `port` is non-numeric"));
    faults(out, `${path}.port`, port, isPortName(port));
  } else if (endPort !== undefined) {
    out.push(invalid(last, endPort, "may not be specified when `port` is not specified"));
  }
}

function checkPeer(out: Errors, path: string, peer: NetworkPolicyPeer): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  checkLabelSelector(out, `${path}.podSelector`, podSelector);
  checkLabelSelector(out, `${path}.namespaceSelector`, namespaceSelector);
  if (ipBlock !== undefined) checkBlock(out, `${path}.ipBlock`, ipBlock);
  const count = [podSelector, namespaceSelector, ipBlock].filter((member) => member !== undefined).length;
  if (count === 0) out.push(required(path, "must specify a peer"));
  else if (count > 1 && ipBlock) out.push(forbiddenField(path, "may not specify both ipBlock and another peer"));
}

function checkBlock(out: Errors, path: string, { cidr, except }: IPBlock): void {
  if (cidr === "") {
    out.push(required(`${path}.cidr`));
    return;
  }
  const block = parseCidr(cidr);
  if (block === undefined) {
    out.push(invalid(`${path}.cidr`, cidr, "not a valid CIDR"));
    return;
  }
  eachItem(out, except, `${path}.except`, (text, place) => {
    const hole = parseCidr(text);
    if (hole === undefined) out.push(invalid(place, text, "not a valid CIDR"));
    else if (!contains(block, hole.address) || block.bits >= hole.bits) {
      out.push(invalid(place, text, "must be a strict subset of `cidr`"));
    }
  });
}
