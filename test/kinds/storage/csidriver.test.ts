import { tested } from "../refused.ts";

tested(
  "storage.k8s.io",
  "v1",
  "csidrivers",
  [
    [
      "token requests",
      { spec: { tokenRequests: [{ audience: "a", expirationSeconds: 5 }, { audience: "a" }] } },
      ["Invalid spec.tokenRequests[0].expirationSeconds", "Duplicate spec.tokenRequests[1].audience"],
    ],
  ],
  [
    [
      "what cannot change",
      {
        spec: {
          attachRequired: false,
          podInfoOnMount: true,
          fsGroupPolicy: "None",
          volumeLifecycleModes: ["Ephemeral"],
        },
      },
      {},
      [
        "Invalid spec.attachedRequired",
        "Invalid spec.fsGroupPolicy",
        "Invalid spec.podInfoOnMount",
        "Invalid spec.volumeLifecycleModes",
      ],
    ],
  ],
);
