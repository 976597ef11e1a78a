// A table of numbers that grows and shrinks at its end, a page at a time: nothing that is in it is copied for that, so
// that no change takes longer with its size.
//
//   page   row 0: column 0, column 1, …; row 1: …      a row lies in one place: reading it is one look at memory

const pageBits = 10;

/** Rows of a page. */
export const pageRows = 1 << pageBits;

/** Rows of 32-bit numbers, signed. */
export class Rows {
  /** Rows. */
  count = 0;
  readonly #columns: number;
  #pages: Int32Array[] = [];

  constructor(columns: number) {
    this.#columns = columns;
    this.clear();
  }

  /** Memory it takes. */
  get bytes(): number {
    return this.#pages.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  clear(): void {
    this.count = 0;
    this.#pages = [this.#newPage()];
  }

  /** A number of a row that is there. */
  get(row: number, column: number): number {
    const page = this.#pages[row >>> pageBits] as Int32Array;
    return page[(row & (pageRows - 1)) * this.#columns + column] as number;
  }

  set(row: number, column: number, value: number): void {
    const page = this.#pages[row >>> pageBits] as Int32Array;
    page[(row & (pageRows - 1)) * this.#columns + column] = value;
  }

  /** Has a row say what another one says. */
  copy(from: number, to: number): void {
    const source = this.#pages[from >>> pageBits] as Int32Array;
    const target = this.#pages[to >>> pageBits] as Int32Array;
    const [first, into] = [(from & (pageRows - 1)) * this.#columns, (to & (pageRows - 1)) * this.#columns];
    for (let column = 0; column < this.#columns; column++) target[into + column] = source[first + column] as number;
  }

  /** Adds a row, of any numbers; where it is. */
  push(): number {
    if (this.count === this.#pages.length * pageRows) this.#pages.push(this.#newPage());
    return this.count++;
  }

  /** Removes the last row. Half a page stays, so that a row that comes and goes is not a page each time. */
  pop(): void {
    this.count -= 1;
    if (this.count + pageRows / 2 <= (this.#pages.length - 1) * pageRows) this.#pages.pop();
  }

  #newPage(): Int32Array {
    return new Int32Array(pageRows * this.#columns);
  }
}
