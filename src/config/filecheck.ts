// Checking files an operator wrote by the schemas of config/files/. The library behind them takes a tenth of a second to
// load: only the main thread loads it, and only where there is a file to check. Other threads read files that main
// checked.
import type { Spell } from "./files/parts.ts";
import type { FormatName } from "./files/table.ts";

/**
 * Returns an error message of one line for a document of a format; undefined: valid. The document is plain data
 * (`plainOf()`).
 */
export type FileCheck = (name: FormatName, document: unknown) => string | undefined;

/** For documents that were checked before, on another thread. */
export const checkedBefore: FileCheck = () => undefined;

/** Loads the schemas, and checks by them; names are in the identity's spelling. */
export async function loadFileCheck(spell: Spell): Promise<FileCheck> {
  const { checkDocument } = await import("./files/check.ts");
  return (name, document) => checkDocument(name, document, spell);
}
