// A list in a form for people, indented JSON or YAML. Printing costs up to a millisecond per object, so items are parsed
// and printed one by one, and a chunk ends when others are to have a turn of the loop; nothing but the chunk is kept.
import type { Value, ValueMap } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import type { Hold } from "../../cache/view/view.ts";
import { parseOwn, textOf } from "../../codec/engine/json.ts";
import { prettyItem, prettyJson, sortedDocument } from "../../codec/json/print.ts";
import { yamlText } from "../../codec/yaml/printer.ts";
import { limits } from "../../config/limits.ts";
import type { FormWriter } from "../answer/form.ts";
import { formBytes, representRecord } from "../answer/toversion.ts";
import type { ListAnswer, ReadInput } from "../read/read.ts";
import { dearItemsAtOnce, type ListChunks } from "./chunks.ts";
import { type ConvertedItems, convertedItems } from "./conversion.ts";

/** How a format puts a list together. */
interface Layout {
  /** What stands before the first item of a list that has some; `top` is the list without them, `name` their key. */
  readonly head: (top: ValueMap, name: string) => string;
  readonly between: string;
  readonly item: (item: ValueMap) => string;
  readonly foot: (top: ValueMap, name: string) => string;
  /** A list without items. */
  readonly whole: (list: ValueMap) => string;
}

const closing = "\n}";

const layouts: Readonly<Record<"json" | "yaml", Layout>> = {
  json: {
    head: (top, name) => `${prettyJson(top).slice(0, -closing.length)},\n  "${name}": [\n    `,
    between: ",\n    ",
    item: (item) => prettyItem(item, "    "),
    foot: () => `\n  ]${closing}`,
    whole: prettyJson,
  },
  // Keys are sorted.
  yaml: {
    head: (top, name) => `${yamlText(only(top, (key) => key < name))}${name}:\n`,
    between: "",
    item: (item) => yamlText([item]),
    foot: (top, name) => textOfRest(only(top, (key) => key > name)),
    whole: yamlText,
  },
};

function only(map: ValueMap, keep: (key: string) => boolean): ValueMap {
  return new Map([...map].filter(([key]) => keep(key)));
}

function textOfRest(rest: ValueMap): string {
  return rest.size === 0 ? "" : yamlText(rest);
}

/** The chunks of a list as indented JSON or YAML. */
export class TextList implements ListChunks {
  done = false;
  readonly isLong: boolean;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  readonly #layout: Layout;
  readonly #form: FormWriter | undefined;
  /** Undefined: no webhook converts them. */
  readonly #converted: ConvertedItems | undefined;
  readonly prepare: ListChunks["prepare"];
  /** The list without its items, and the key they stand under: the last one of a list in JSON. */
  readonly #top: ValueMap;
  readonly #name: string;
  #index = 0;
  #started = false;

  /** `none` is the list in JSON without its items. */
  constructor(
    input: ReadInput,
    list: ListAnswer,
    format: "json" | "yaml",
    form: FormWriter | undefined,
    none: string,
    hold: Hold,
  ) {
    const converted = convertedItems(input, list, () => hold.expired);
    this.#converted = converted;
    this.prepare = converted && (() => converted.prepare(this.#index));
    this.#input = input;
    this.#list = list;
    this.isLong = list.items.length > dearItemsAtOnce;
    this.#layout = layouts[format];
    this.#form = form;
    this.#top = parsed(parseOwn(none));
    this.#name = [...this.#top.keys()].pop() ?? "";
    if (list.items.length > 0) this.#top.delete(this.#name);
  }

  next(): Uint8Array {
    const { items } = this.#list;
    const layout = this.#layout;
    const until = performance.now() + limits.sliceMsMax;
    if (items.length === 0) {
      this.done = true;
      return Buffer.from(layout.whole(this.#top));
    }
    let text = this.#started ? "" : layout.head(this.#top, this.#name);
    this.#started = true;
    const end = this.#converted?.end ?? items.length;
    while (this.#index < end) {
      const full = text.length > limits.sliceBytesMax || performance.now() > until;
      if (full && text !== "") return Buffer.from(text);
      text += (this.#index === 0 ? "" : layout.between) + layout.item(this.#item(this.#index));
      this.#index += 1;
    }
    if (this.#index < items.length) return Buffer.from(text);
    this.done = true;
    return Buffer.from(text + layout.foot(this.#top, this.#name));
  }

  /** One item as lists have them: without its type, unless its form keeps it. */
  #item(index: number): ValueMap {
    const { resource, identity } = this.#input;
    const { view, items } = this.#list;
    const at = items[index] ?? 0;
    const converted = this.#converted?.take(index);
    if (this.#form !== undefined) {
      const object = converted ?? formBytes(view, at, resource, identity);
      return parsed(parseOwn(textOf(this.#form.item(object))));
    }
    const item = parsed(parseOwn(textOf(converted ?? representRecord(view, at, resource, identity))));
    if (resource.message.open === true) return parsed(sortedDocument(item));
    item.delete("kind");
    item.delete("apiVersion");
    return item;
  }
}

function parsed(value: Value | object): ValueMap {
  assert(value instanceof Map, "Our own JSON is no object");
  return value;
}
