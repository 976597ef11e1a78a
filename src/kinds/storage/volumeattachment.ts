// VolumeAttachment: a volume that is to be attached to a node.
import { type FieldError, invalid, required, tooLong } from "../../api/fielderror.ts";
import type { VolumeAttachment, VolumeAttachmentStatus } from "../../api/gen/storage/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, boolean, type Columns, column, nameColumn } from "../columns.ts";
import { bytesOf } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import { specAndMetadata } from "../resetfields.ts";
import type { Strategy } from "../strategy.ts";
import { checkSubdomain, type Errors, empty } from "../validation/check.ts";
import { equal } from "../validation/equal.ts";
import { checkDriverName } from "./drivers.ts";

/** Behaviour of volume attachments. */
export function volumeAttachmentBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: volumeAttachmentStrategy(resource),
    columns: volumeAttachmentColumns(),
    resetFields: specAndMetadata,
    metaRules: { update: [2, 0], parts: { status: [2, 0] } },
  };
}

function volumeAttachmentStrategy(resource: Resource): Strategy<VolumeAttachment> {
  return strategyFor<VolumeAttachment>(resource, {
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    keepsMetaOnStatus: true,
    validate: validateVolumeAttachment,
    validateUpdate: validateVolumeAttachmentUpdate,
  });
}

/** Columns of volume attachments. */
function volumeAttachmentColumns(): Columns<VolumeAttachment> {
  return {
    columns: [
      nameColumn,
      column("Attacher", "Driver that attaches", ({ spec }) => spec.attacher, { format: "name" }),
      column("PV", "Volume that is attached", ({ spec }) => spec.source.persistentVolumeName ?? ""),
      column("Node", "Node it is attached to", ({ spec }) => spec.nodeName),
      column("Attached", "The volume is attached", ({ status }) => status.attached, boolean),
      ageColumn,
    ],
  };
}

const attachmentBytesMax = 262_144;

/** Rules of a new volume attachment; upstream looks at the attacher twice. */
export function validateVolumeAttachment({ spec, status }: VolumeAttachment): FieldError[] {
  const out: Errors = [];
  if (empty(spec.attacher)) out.push(required("spec.attacher"));
  const { inlineVolumeSpec, persistentVolumeName } = spec.source;
  if ((inlineVolumeSpec === undefined) === (persistentVolumeName === undefined)) {
    const why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    out.push(inlineVolumeSpec === undefined ? required("spec.source", why) : invalid("spec.source", spec.source, why));
  } else if (persistentVolumeName === "") {
    out.push(required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"));
  }
  checkSubdomain(out, "spec.nodeName", spec.nodeName);
  checkAttachment(out, status);
  checkDriverName(out, "spec.attacher", spec.attacher);
  return out;
}

/** Rules of a changed volume attachment. */
export function validateVolumeAttachmentUpdate(object: VolumeAttachment, old: VolumeAttachment): FieldError[] {
  const out: Errors = [];
  checkAttachment(out, object.status);
  if (!equal("storage/v1.VolumeAttachmentSpec", object.spec, old.spec)) {
    out.push(invalid("spec", object.spec, "field is immutable"));
  }
  return out;
}

function checkAttachment(out: Errors, status: VolumeAttachmentStatus): void {
  let bytes = 0;
  for (const [key, value] of status.attachmentMetadata ?? []) bytes += bytesOf(key) + bytesOf(value);
  if (bytes > attachmentBytesMax) out.push(tooLong("status.attachmentMetadata", attachmentBytesMax));
  for (const member of ["attachError", "detachError"] as const) {
    if (bytesOf(status[member]?.message ?? "") > 1024) out.push(tooLong(`status.${member}.message`, 1024));
  }
}
