// fieldValidation: what a client wants to hear about fields that are unknown or come twice. Without the parameter they
// are dropped in silence, as upstream does at this release.

/** The parameter; empty: unset. */
export type FieldValidation = "" | "Ignore" | "Warn" | "Strict";

/** The report a request asks for; undefined when nobody wants to know. */
export function fieldReportOf(directive: FieldValidation): FieldReport | undefined {
  return directive === "Warn" || directive === "Strict" ? new FieldReport(directive === "Strict") : undefined;
}

/** What one request asked for, and what it is to be warned of. */
export class FieldReport {
  readonly #strict: boolean;
  readonly #warnings = new Set<string>();

  constructor(strict: boolean) {
    this.#strict = strict;
  }

  /** Whether a fault ends the request. */
  get isStrict(): boolean {
    return this.#strict;
  }

  /** Texts for Warning headers, each once, however often the write was tried. */
  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  /** Takes the keys that come twice in the YAML of an apply: the error that ends a strict request, or undefined. */
  takeYaml(faults: readonly string[]): string | undefined {
    if (faults.length === 0) return undefined;
    const text = `error converting YAML to JSON: yaml: unmarshal errors:\n  ${faults.join("\n  ")}`;
    if (this.#strict) return `error strict decoding YAML: ${text}`;
    this.#warnings.add(text);
    return undefined;
  }

  /** Takes what was found: the error that ends a strict request, or undefined. */
  take(faults: readonly string[]): string | undefined {
    if (faults.length === 0) return undefined;
    if (this.#strict) return `strict decoding error: ${faults.join(", ")}`;
    for (const fault of faults) this.#warnings.add(fault);
    return undefined;
  }
}
