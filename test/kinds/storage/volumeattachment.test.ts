import { tested } from "../refused.ts";

tested(
  "storage.k8s.io",
  "v1",
  "volumeattachments",
  [
    [
      "a volume of two kinds",
      { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p", inlineVolumeSpec: {} } } },
      ["Invalid spec.source"],
    ],
  ],
  [
    [
      "another node",
      { spec: { attacher: "a", nodeName: "m", source: { persistentVolumeName: "p" } } },
      { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } } },
      ["Invalid spec"],
    ],
  ],
);
