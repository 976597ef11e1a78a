// What tests start: the program as `npm start` runs it.
import { fileURLToPath } from "node:url";

/** The bundled program. */
export const program = fileURLToPath(new URL("../../../../bundle/src/orch.js", import.meta.url));
