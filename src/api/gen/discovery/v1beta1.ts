// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** discovery/v1beta1.Endpoint. */
export interface Endpoint {
  addresses?: string[] | undefined;
  conditions: EndpointConditions;
  hostname?: string | undefined;
  targetRef?: core_v1.ObjectReference | undefined;
  topology?: Map<string, string> | undefined;
  nodeName?: string | undefined;
  hints?: EndpointHints | undefined;
}

/** discovery/v1beta1.EndpointConditions. */
export interface EndpointConditions {
  ready?: boolean | undefined;
  serving?: boolean | undefined;
  terminating?: boolean | undefined;
}

/** discovery/v1beta1.EndpointHints. */
export interface EndpointHints {
  forZones?: ForZone[] | undefined;
}

/** discovery/v1beta1.EndpointPort. */
export interface EndpointPort {
  name?: string | undefined;
  protocol?: string | undefined;
  port?: number | undefined;
  appProtocol?: string | undefined;
}

/** discovery/v1beta1.EndpointSlice. */
export interface EndpointSlice {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  addressType: string;
  endpoints?: Endpoint[] | undefined;
  ports?: EndpointPort[] | undefined;
}

/** discovery/v1beta1.EndpointSliceList. */
export interface EndpointSliceList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: EndpointSlice[] | undefined;
}

/** discovery/v1beta1.ForZone. */
export interface ForZone {
  name: string;
}
