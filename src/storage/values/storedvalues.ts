// Between the bytes of an etcd value and the content of a record. kube-apiserver v1.23 reads what is written here, and what
// it wrote is read here. Pure; runs on the store thread.
//
//   Change.body ─── JSON, as it is ─────────────────► value ─── of this server: digits are spliced in ──────► Content
//             └── --storage-media-type: protobuf ──►       └── any other: decoded, defaulted, converted ──►
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ApiObject, ObjectMeta } from "../../api/object.ts";
import { builtInResources, type Resource, type Scheme } from "../../api/scheme.ts";
import { AssertionFailure, SharedStateFailure } from "../../base/assert.ts";
import { encodeSelection } from "../../cache/shared/selection.ts";
import { selectionOf, selectionWith } from "../../cache/shared/selectionof.ts";
import { readLeanMeta } from "../../codec/engine/canonical.ts";
import { encodeForStore, textOf } from "../../codec/engine/json.ts";
import { decodeLean, decodeStored } from "../../codec/engine/stored.ts";
import { encodeEnvelope, encodeProto } from "../../codec/proto/protobuf.ts";
import { transcode } from "../../codec/proto/transcode.ts";
import type { StorageMediaType } from "../../config/etcdflags.ts";
import type { ClusterFacts } from "../../kinds/strategy.ts";
import { behaviourOf } from "../../kinds/table.ts";
import { type Change, StoreError } from "../store.ts";
import { customMessage, ForeignValues, Unreadable } from "./foreign.ts";
import { type Head, headOf } from "./head.ts";
import { namesOf, type Place, Places } from "./places.ts";

/** What a record has from a value. */
export interface Content {
  /** The object's JSON at the version it is stored in, with the revision's digits in it. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Where those digits start. */
  readonly versionAt: number;
  readonly selection: Uint8Array<ArrayBufferLike>;
}

/** What values are read and written by. */
export interface StoredValuesOptions {
  /** Served kinds; what else is in the store is left alone. */
  readonly scheme: Scheme;
  readonly mediaType: StorageMediaType;
  /** Prefixes of claims, which are kept beside objects. */
  readonly claims: readonly string[];
  readonly cluster: ClusterFacts;
}

/** Groups whose objects upstream always keeps as JSON, in canonical spelling. */
const jsonGroups = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

const metaMessage = messageOf("meta/v1.ObjectMeta");

/** Values of one server. */
export class StoredValues {
  readonly #identity: Identity;
  readonly #places: Places;
  readonly #foreign: ForeignValues;
  readonly #isProtobuf: boolean;
  readonly #jsonGroups: ReadonlySet<string>;

  constructor({ scheme, mediaType, claims, cluster }: StoredValuesOptions) {
    const { identity, resources } = scheme;
    this.#identity = identity;
    const builtIn = builtInResources(identity);
    this.#places = new Places(builtIn, resources, claims);
    this.#foreign = new ForeignValues(builtIn, identity, cluster);
    this.#isProtobuf = mediaType !== "application/json";
    this.#jsonGroups = new Set(jsonGroups.map((group) => identity.spell(group)));
  }

  /**
   * Prefix of a key, `/registry/pods` of `/registry/pods/default/a`; undefined: a record of upstream's own, a kind that is
   * not served, or no key of an object. What a group with a dot has may be of a definition that is not known yet.
   */
  placeOf(key: string): string | undefined {
    return this.#places.find(key)?.prefix;
  }

  /** The bytes to store for a change that is no delete. */
  encode({ prefix, body }: Change): Uint8Array {
    const stored = this.#isProtobuf ? this.#places.at(prefix)?.stored : undefined;
    if (stored === undefined || this.#jsonGroups.has(stored.group)) return body;
    const message = transcode(stored.message, body);
    if (message !== undefined) return encodeEnvelope(stored.apiVersion, stored.kind, message);
    return encodeProto(stored.message, decodeStored(stored, body));
  }

  /**
   * The content of a value at a revision. `isStale`: its encryption is outdated, so that the object's next write is stored
   * even without a change. Throws StoreError "corrupt", whose message names the key and says nothing of the value.
   */
  decode(prefix: string, key: string, value: Uint8Array, revision: number, isStale = false): Content {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const place = this.#places.at(prefix);
    const read =
      place === undefined ? new Unreadable("is at no place of a kind") : this.#read(place, key, bytes, isStale);
    if (read instanceof Unreadable) throw new StoreError("corrupt", `The value of ${key} ${read.reason}`);
    const { body, versionAt, selection } = read;
    return { body: splice(body, versionAt, revision), versionAt, selection };
  }

  /** The content, without digits. */
  #read(
    place: Place,
    key: string,
    bytes: Buffer,
    isStale: boolean,
  ): (Omit<Content, "body"> & { body: Buffer }) | Unreadable {
    try {
      const head = headOf(bytes);
      const own = head && this.#readOwn(place, key, bytes, head, isStale);
      return own ?? this.#readForeign(place, key, bytes, isStale);
    } catch (error) {
      if (!(error instanceof AssertionFailure) || error instanceof SharedStateFailure) throw error;
      return new Unreadable("is an object that breaks a rule of its type");
    }
  }

  /** The content of a value of ours: its selection is all there is to find. Undefined: it is not as encode() writes it. */
  #readOwn(place: Place, key: string, body: Buffer, head: Head, isStale: boolean) {
    const { stored, prefix } = place;
    const { versionAt } = head;
    const names = namesOf(prefix, key);
    if (place.isClaims) {
      return { body, versionAt, selection: encodeSelection(names.namespace, names.name, undefined, []) };
    }
    const isOfKind =
      stored === undefined
        ? head.apiVersion.startsWith(`${place.group}/`)
        : head.kind === stored.kind && head.apiVersion === stored.apiVersion;
    const object = isOfKind ? this.#selectable(stored, textOf(body), head) : undefined;
    if (object === undefined) return undefined;
    return this.#selected(place, names, object, body, versionAt, isStale);
  }

  /** As much of an object as its selection is derived from. */
  #selectable(stored: Resource | undefined, text: string, { metadataAt }: Head): ApiObject | undefined {
    const { selectableFields } = stored === undefined ? {} : behaviourOf(stored, this.#identity).strategy;
    if (stored !== undefined && selectableFields !== undefined) return decodeLean(stored, text)?.object;
    const metadata = readLeanMeta<ObjectMeta>(metaMessage, text, metadataAt);
    return metadata && { metadata };
  }

  #readForeign(place: Place, key: string, bytes: Buffer, isStale: boolean) {
    const { stored, prefix, group, isClaims } = place;
    if (isClaims) return new Unreadable("is no claim");
    const foreign = this.#foreign;
    const read = stored === undefined ? foreign.readCustom(bytes, group) : foreign.readBuiltIn(bytes, stored);
    if (read instanceof Unreadable) return read;
    const { object, isUnsettled } = read;
    const { body, versionAt } = encodeForStore(stored?.message ?? customMessage, object);
    // Rare shapes of this server's own are read here, too.
    const isMarked = isStale || (isUnsettled && !body.equals(bytes));
    return this.#selected(place, namesOf(prefix, key), object, body, versionAt, isMarked);
  }

  #selected(
    { stored }: Place,
    names: { readonly namespace: string; readonly name: string },
    object: ApiObject,
    body: Buffer<ArrayBufferLike>,
    versionAt: number,
    isUnsettled: boolean,
  ) {
    const { metadata } = object;
    const { namespace, name } = names;
    if ((metadata.name ?? "") !== name) return new Unreadable("is an object of another name");
    if ((metadata.namespace ?? "") !== namespace) return new Unreadable("is an object of another namespace");
    const selection =
      stored === undefined
        ? selectionWith(metadata, names, [], 0, isUnsettled)
        : selectionOf(stored, this.#identity, object, names, isUnsettled);
    return { body, versionAt, selection };
  }
}

/** The bytes with a revision's digits at `versionAt`. */
function splice(bytes: Buffer, versionAt: number, revision: number): Uint8Array<ArrayBuffer> {
  const digits = String(revision);
  const body = Buffer.allocUnsafe(bytes.length + digits.length);
  bytes.copy(body, 0, 0, versionAt);
  body.write(digits, versionAt, "latin1");
  bytes.copy(body, versionAt + digits.length, versionAt);
  return body;
}
