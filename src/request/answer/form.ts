// Objects in another form than their own, as JSON: rows of a Table (table.ts), or their metadata alone (partial.ts).
import type { ListMeta } from "../../api/gen/meta/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { copyBytes } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import type { Form } from "../route/negotiate.ts";

/** What writing a form takes. */
export interface FormInput {
  readonly form: Form;
  /** The resource at the version asked for. */
  readonly resource: Resource;
  readonly identity: Identity;
  /** The wall clock in milliseconds, for ages. */
  readonly now: () => number;
}

/** Writes objects in one form, as JSON. Objects come at the version of `source`. */
export interface FormWriter {
  /** How a list calls itself. */
  readonly listType: { readonly kind: string; readonly apiVersion: string };
  /** A list up to its first item. */
  listHead(metadata: ListMeta): string;
  readonly listFoot: string;
  /** A list without items: what stands for them is `null` where upstream has it so. */
  listOfNone(metadata: ListMeta): string;
  /** An item of a list. */
  item(object: Uint8Array): Uint8Array;
  /** Its message in protobuf; left out: the form has none. */
  message?(object: Uint8Array): Uint8Array;
  /**
   * Makes items of the records of a log with what is kept of them, or keeps it for the next list. The bytes of an item are
   * overwritten by the next one. Undefined: nothing is kept of these records.
   */
  records?(view: RecordSource): ((at: Location) => Uint8Array) | undefined;
  /** A document of one object; `headed`: with what only the first event of a watch carries. */
  document(object: Uint8Array, headed: boolean): Uint8Array;
}

/** Bytes between two texts, of which the second one is ASCII. */
export function joined(head: string, middle: Uint8Array, foot: string): Uint8Array {
  return joinedIn(Buffer.allocUnsafeSlow(Buffer.byteLength(head) + middle.length + foot.length), head, middle, foot);
}

/** The same at the beginning of a buffer that has room for it. */
export function joinedIn(bytes: Buffer, head: string, middle: Uint8Array, foot: string): Uint8Array {
  const end = copyBytes(bytes, bytes.write(head, 0), middle);
  return bytes.subarray(0, end + bytes.write(foot, end, "latin1"));
}
