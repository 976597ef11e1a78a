// `config schema [NAME]`: the JSON Schema of a configuration file on standard output, for editors and for checks before
// a server starts.
import type { Spell } from "./files/parts.ts";

/** A mistake in the words of the command: one line for the operator. */
export interface CommandFault {
  readonly fault: string;
}

const usage = "usage: config schema [NAME] [--identity=orch|kubernetes]";

/** The output of the command; `words`: the arguments after `config`. */
export async function printConfigCommand(words: readonly string[], spell: Spell): Promise<string | CommandFault> {
  const [command, name, ...more] = words;
  if (command !== "schema" || more.length > 0) return { fault: usage };
  const { aboutOf, formatNames, schemaOf } = await import("./files/table.ts");
  if (name === undefined) {
    const width = Math.max(...formatNames.map(({ length }) => length));
    return formatNames.map((format) => `${format.padEnd(width)}  ${aboutOf(format)}`).join("\n");
  }
  const format = formatNames.find((one) => one === name);
  if (format === undefined) {
    return { fault: `config schema: there is no format ${JSON.stringify(name)}; there are: ${formatNames.join(", ")}` };
  }
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  const schema = { $schema, title: format, description: aboutOf(format), ...schemaOf(format, spell) };
  return JSON.stringify(schema, null, 2);
}
