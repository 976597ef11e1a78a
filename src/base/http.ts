// Node's HTTP, found by require(): an `import` of it looks at each of its exports, and those of WebSockets load undici,
// 1.7 MiB of each thread's heap (DECISIONS 188).
import type * as Http from "node:http";
import { createRequire } from "node:module";

const http = createRequire(import.meta.url)("node:http") as typeof Http;

export const { Agent, createServer, IncomingMessage, request, ServerResponse, STATUS_CODES } = http;
export type Agent = Http.Agent;
export type IncomingMessage = Http.IncomingMessage;
export type ServerResponse = Http.ServerResponse;
