// Reads a watch stream of any objects: every line parses, and the versions of its objects rise. A status whose
// message is `at <microseconds>` tells when its change was sent.
import type { EventReader, Findings } from "./marks.ts";

const newline = 0x0a;

/** What is read of an object. */
interface Shown {
  readonly metadata: { readonly resourceVersion: string; readonly deletionTimestamp?: string };
  readonly status?: { readonly message?: string };
}

/** Versions of a stream's events: what does not rise is a gap. */
export class Rising {
  readonly #findings: Findings;
  #version = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** The next one; undefined: the text is no version. */
  take(text: string | undefined): number | undefined {
    if (text === undefined || !/^\d+$/.test(text)) return undefined;
    const version = Number(text);
    if (version <= this.#version) this.#findings.gaps += 1;
    this.#version = version;
    return version;
  }
}

/** The lines of one stream. */
export class VersionReader implements EventReader {
  readonly #findings: Findings;
  readonly #rising: Rising;
  #rest: Buffer[] = [];

  constructor(findings: Findings) {
    this.#findings = findings;
    this.#rising = new Rising(findings);
  }

  push(bytes: Buffer, from: number, end: number): void {
    this.#findings.bytes += end - from;
    let start = from;
    for (let stop = bytes.indexOf(newline, start); stop >= 0 && stop < end; stop = bytes.indexOf(newline, start)) {
      this.#line(Buffer.concat([...this.#rest, bytes.subarray(start, stop)]).toString());
      this.#rest = [];
      start = stop + 1;
    }
    if (start < end) this.#rest.push(Buffer.from(bytes.subarray(start, end)));
  }

  #line(text: string): void {
    if (text.trim() === "") return;
    try {
      const { type, object } = JSON.parse(text) as { type: string; object: Shown };
      if (type === "BOOKMARK") return;
      if (type === "ERROR") {
        this.#findings.errors += 1;
        return;
      }
      this.#findings.events += 1;
      const version = this.#rising.take(object.metadata.resourceVersion);
      if (version === undefined) {
        this.#findings.torn += 1;
        return;
      }
      const sentUs = /^at (\d{16})$/.exec(object.status?.message ?? "")?.[1];
      // A delete shows the last status again, in one event or two.
      const isLast = type !== "MODIFIED" || object.metadata.deletionTimestamp !== undefined;
      if (sentUs !== undefined && !isLast) this.#findings.event(0, version, Number(sentUs));
    } catch {
      this.#findings.torn += 1;
    }
  }
}
