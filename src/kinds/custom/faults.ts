// What validation found: each message once, as upstream lists them, and no more than an answer can name.
import type { FieldError } from "../../api/fielderror.ts";
import { limits } from "../../config/limits.ts";

/** Faults of values, in order. */
export class Faults {
  readonly list: FieldError[] = [];
  readonly #messages = new Set<string>();
  #chars = 0;

  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  /** Enough faults were found: further ones would help no client. */
  get isFull(): boolean {
    return this.list.length >= limits.fieldErrorsMax || this.#chars >= limits.fieldErrorCharsMax;
  }

  /** Takes a fault, unless its message is known: items of a list have their list's path, and say the same. */
  add(message: string, error: FieldError): void {
    if (this.isFull || this.#messages.has(message)) return;
    this.#messages.add(message);
    this.list.push(error);
    this.#chars += error.field.length + error.text.length;
  }

  /** Takes all faults of `other`, before those from `mark` on. */
  insert(mark: number, other: Faults): void {
    const later = this.list.splice(mark);
    this.merge(other);
    for (const error of later) this.list.push(error);
  }

  /** Takes all faults of `other`. */
  merge(other: Faults): void {
    let index = 0;
    for (const message of other.#messages) this.add(message, other.list[index++] as FieldError);
  }
}
