import { tested } from "../refused.ts";

const level = (limitResponse: object) => ({ spec: { type: "Limited", limited: { limitResponse } } });
const queuing = "spec.limited.limitResponse.queuing";
tested("flowcontrol.apiserver.k8s.io", "v1beta2", "prioritylevelconfigurations", [
  ["a good one", level({ type: "Queue", queuing: {} }), []],
  ["no queues", level({ type: "Queue" }), [`Required ${queuing}`]],
  ["queues that are not used", level({ type: "Reject", queuing: {} }), [`Forbidden ${queuing}`]],
  [
    "a hand larger than the deck",
    level({ type: "Queue", queuing: { queues: 4, handSize: 5 } }),
    [`Invalid ${queuing}.handSize`],
  ],
  [
    "too many deals",
    level({ type: "Queue", queuing: { queues: 10000000, handSize: 3 } }),
    [`Invalid ${queuing}.handSize`],
  ],
  [
    "too many queues",
    level({ type: "Queue", queuing: { queues: 10000001, handSize: 1, queueLengthLimit: -1 } }),
    [`Invalid ${queuing}.queueLengthLimit`, `Invalid ${queuing}.queues`],
  ],
  ["another answer", level({ type: "X" }), ["NotSupported spec.limited.limitResponse.type"]],
]);
