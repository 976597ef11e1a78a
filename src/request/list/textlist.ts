// A list in a form for people, indented JSON or YAML. Printing costs up to a millisecond per object, so items are parsed
// and printed one by one, and a chunk ends when others are to have a turn of the loop; nothing but the chunk is kept. What
// is large is printed in the pool, an item at a time.
import { isStatus, type Status, timedOut } from "../../api/status.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { copyOf } from "../../base/copy.ts";
import { parseOwn, textOf } from "../../codec/engine/json.ts";
import { prettyJson } from "../../codec/json/print.ts";
import { yamlText } from "../../codec/yaml/printer.ts";
import { limits } from "../../config/limits.ts";
import type { FormWriter } from "../answer/form.ts";
import { type ItemOf, printItem, type TextFormat } from "../answer/print.ts";
import type { Printer } from "../answer/response.ts";
import { formBytes, representRecord } from "../answer/toversion.ts";
import { longReads } from "../exchange/longreads.ts";
import type { ListAnswer, ReadInput } from "../read/read.ts";
import { dearItemsAtOnce, type ListChunks } from "./chunks.ts";
import { type ConvertedItems, convertedItems } from "./conversion.ts";

/** How a format puts a list together. */
interface Layout {
  /** What stands before the first item of a list that has some; `top` is the list without them, `name` their key. */
  readonly head: (top: ValueMap, name: string) => string;
  readonly between: string;
  readonly foot: (top: ValueMap, name: string) => string;
  /** A list without items. */
  readonly whole: (list: ValueMap) => string;
}

const closing = "\n}";

const layouts: Readonly<Record<TextFormat, Layout>> = {
  pretty: {
    head: (top, name) => `${prettyJson(top).slice(0, -closing.length)},\n  "${name}": [\n    `,
    between: ",\n    ",
    foot: () => `\n  ]${closing}`,
    whole: prettyJson,
  },
  // Keys are sorted.
  yaml: {
    head: (top, name) => `${yamlText(only(top, (key) => key < name))}${name}:\n`,
    between: "",
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

/** Until a list that has begun asks again for a place in the pool, in milliseconds. */
const againMs = 100;

/** The chunks of a list as indented JSON or YAML. */
export class TextList implements ListChunks {
  done = false;
  readonly isLong: boolean;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  readonly #format: TextFormat;
  readonly #form: FormWriter | undefined;
  readonly #of: ItemOf;
  readonly #printer: Printer | undefined;
  readonly #isGone: () => boolean;
  /** Undefined: no webhook converts them. */
  readonly #converted: ConvertedItems | undefined;
  /** The list without its items, and the key they stand under: the last one of a list in JSON. */
  readonly #top: ValueMap;
  readonly #name: string;
  /** The item at the index, where it is ready. */
  #printed: string | undefined;
  #index = 0;
  #started = false;

  /** `none` is the list in JSON without its items; `isGone`: nobody waits for it, or what it reads is gone. */
  constructor(
    input: ReadInput,
    list: ListAnswer,
    format: TextFormat,
    form: FormWriter | undefined,
    none: string,
    { printer, isGone }: { readonly printer: Printer | undefined; readonly isGone: () => boolean },
  ) {
    this.#converted = convertedItems(input, list, isGone);
    this.#input = input;
    this.#list = list;
    this.isLong = list.items.length > dearItemsAtOnce;
    this.#format = format;
    this.#form = form;
    this.#of = itemOf(input, form);
    this.#printer = printer;
    this.#isGone = isGone;
    this.#top = parsed(parseOwn(none));
    this.#name = [...this.#top.keys()].pop() ?? "";
    if (list.items.length > 0) this.#top.delete(this.#name);
  }

  /** Makes the next item ready: converted, and where it is large, printed. */
  async prepare(): Promise<Status | undefined> {
    const refused = await this.#converted?.prepare(this.#index);
    const printer = this.#printer;
    if (refused !== undefined || printer === undefined || !this.#isLarge(printer)) return refused;
    if (this.#printed !== undefined) return undefined;
    const json = await longReads.do(() => (this.#isGone() ? undefined : this.#largeJson(printer)), this.#input.lane);
    if (json === undefined) return timedOut;
    const printed = typeof json === "string" ? json : await this.#printedBy(printer, json);
    if (isStatus(printed)) return printed;
    this.#printed = printed;
    return undefined;
  }

  /** Whether the next item is made of what is large. */
  #isLarge(printer: Printer): boolean {
    const { view, items } = this.#list;
    if (this.#index >= items.length) return false;
    return printer.takes(this.#converted?.take(this.#index).length ?? view.objectBytes(items[this.#index] ?? 0));
  }

  /** The next item for the pool, or printed, where it is a small one in its form. */
  #largeJson(printer: Printer): Uint8Array | string {
    const json = this.#json(this.#index);
    return printer.takes(json.length) ? copyOf(json) : printItem(this.#format, json, this.#of);
  }

  /** A list that has begun has no other answer any more, and waits where its user's share of the pool is in use. */
  async #printedBy(printer: Printer, json: Uint8Array): Promise<string | Status> {
    for (;;) {
      const printed = await printer.printItem(this.#format, json, this.#of);
      if (!isStatus(printed)) return textOf(printed);
      if (printed.code !== 429 || !this.#started || this.#isGone()) return printed;
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  }

  next(): Uint8Array {
    const { items } = this.#list;
    const layout = layouts[this.#format];
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
      const item = this.#take(text !== "");
      if (item === undefined) return Buffer.from(text);
      text += (this.#index === 0 ? "" : layout.between) + item;
      this.#index += 1;
    }
    if (this.#index < items.length) return Buffer.from(text);
    this.done = true;
    return Buffer.from(text + layout.foot(this.#top, this.#name));
  }

  /** The item at the index, printed; undefined: it is to be made ready first, where that can be waited for. */
  #take(canWait: boolean): string | undefined {
    const printed = this.#printed;
    this.#printed = undefined;
    if (printed !== undefined) return printed;
    if (canWait && this.#printer !== undefined && this.#isLarge(this.#printer)) return undefined;
    return printItem(this.#format, this.#json(this.#index), this.#of);
  }

  #json(index: number): Uint8Array {
    const { resource, identity } = this.#input;
    const { view, items } = this.#list;
    const at = items[index] ?? 0;
    const converted = this.#converted?.take(index);
    if (this.#form !== undefined) return this.#form.item(converted ?? formBytes(view, at, resource, identity));
    return converted ?? representRecord(view, at, resource, identity);
  }
}

function itemOf({ resource }: ReadInput, form: FormWriter | undefined): ItemOf {
  if (form !== undefined) return "form";
  return resource.message.open === true ? "custom" : "object";
}

function parsed(value: Value | object): ValueMap {
  assert(value instanceof Map, "Our own JSON is no object");
  return value;
}
