// The status of load balancers, of services and of ingresses.
import { invalid } from "../../api/fielderror.ts";
import type { LoadBalancerStatus } from "../../api/gen/core/v1.ts";
import { parseAddress } from "../address.ts";
import { checkSubdomain, type Errors, eachItem, empty } from "./check.ts";

/** Addresses a load balancer answers at. */
export function checkLoadBalancer(out: Errors, path: string, status: LoadBalancerStatus): void {
  eachItem(out, status.ingress, `${path}.ingress`, (ingress, place) => {
    if (!empty(ingress.ip) && parseAddress(ingress.ip) === undefined) {
      out.push(invalid(`${place}.ip`, ingress.ip, "must be a valid IP address"));
    }
    if (empty(ingress.hostname)) return;
    checkSubdomain(out, `${place}.hostname`, ingress.hostname);
    if (parseAddress(ingress.hostname)) {
      out.push(invalid(`${place}.hostname`, ingress.hostname, "must be a DNS name, not an IP address"));
    }
  });
}
