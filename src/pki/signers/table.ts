// Every signer of the server. Requests for other names are left to the programs that have them.
import { apiserverClient } from "./apiserverclient.ts";
import { apiserverClientNodeAgent } from "./apiserverclientnodeagent.ts";
import { legacyUnknown } from "./legacyunknown.ts";
import { nodeAgentServing } from "./nodeagentserving.ts";
import type { Signer } from "./signer.ts";

/** Every signer, one row each. */
export const signers: readonly Signer[] = [apiserverClient, apiserverClientNodeAgent, nodeAgentServing, legacyUnknown];
