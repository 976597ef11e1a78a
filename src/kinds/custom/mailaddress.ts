// Mail addresses as Go's net/mail reads a single one: `a@b`, or a name and the address in angle brackets. One pass from
// left to right.

const atom =
  /[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+)*/uy;
const word = /[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\u0080-\u{10ffff}-]+/uy;
const quoted = /"(?:[^"\\\u0000-\u0008\u000a-\u001f\u007f]|\\[^\u0000-\u0008\u000a-\u001f\u007f])*"/uy;
const literal = /\[[^[\]\\\s\u0000-\u001f\u007f]*\]/uy;
const spaces = /[ \t]*/y;

/** Whether a text is one mail address. */
export function isMailAddress(text: string): boolean {
  const cursor = new Cursor(text);
  cursor.skip();
  if (cursor.addrSpec()) {
    cursor.skip();
    if (cursor.isAtEnd()) return true;
  }
  cursor.at = 0;
  cursor.skip();
  while (cursor.take(quoted) || cursor.take(word)) cursor.skip();
  if (!cursor.takes("<")) return false;
  if (!cursor.addrSpec() || !cursor.takes(">")) return false;
  cursor.skip();
  return cursor.isAtEnd();
}

/** Where the text is read. */
class Cursor {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  isAtEnd(): boolean {
    return this.at === this.text.length;
  }

  /** Moves over what a pattern matches here; an empty match counts as none. */
  take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0].length ?? 0;
    this.at += found;
    return found > 0;
  }

  takes(char: string): boolean {
    if (this.text[this.at] !== char) return false;
    this.at += 1;
    return true;
  }

  /** Spaces, and comments in parentheses, which nest. */
  skip(): void {
    this.take(spaces);
    while (this.text[this.at] === "(") {
      let depth = 0;
      const from = this.at;
      for (; this.at < this.text.length; this.at += 1) {
        const char = this.text[this.at];
        if (char === "\\") this.at += 1;
        else if (char === "(") depth += 1;
        else if (char === ")") depth -= 1;
        if (depth === 0) break;
      }
      if (depth > 0 || this.at >= this.text.length) {
        this.at = from;
        return;
      }
      this.at += 1;
      this.take(spaces);
    }
  }

  addrSpec(): boolean {
    const isQuoted = this.text[this.at] === '"';
    if (isQuoted ? !this.take(quoted) : !this.take(atom)) return false;
    if (isQuoted && this.text.slice(this.at - 2, this.at) === '""') return false;
    this.take(spaces);
    if (!this.takes("@")) return false;
    this.take(spaces);
    return this.take(literal) || this.take(atom);
  }
}
