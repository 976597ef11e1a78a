// Everything that expressions can call.
import { formatFunctions } from "./formats.ts";
import { listFunctions } from "./lists.ts";
import { networkFunctions } from "./networks.ts";
import { operators } from "./operators.ts";
import { optionalFunctions } from "./optionals.ts";
import { Overloads } from "./overloads.ts";
import { quantityFunctions } from "./quantities.ts";
import { patternFunctions } from "./regexes.ts";
import { standardFunctions } from "./standard.ts";
import { stringFunctions } from "./strings.ts";
import { urlFunctions } from "./urls.ts";

/** All operators and functions. */
export const library = new Overloads([
  ...operators,
  ...standardFunctions,
  ...stringFunctions,
  ...listFunctions,
  ...patternFunctions,
  ...urlFunctions,
  ...quantityFunctions,
  ...networkFunctions,
  ...formatFunctions,
  ...optionalFunctions,
]);
