// Caches the user of a bearer token for a short time (upstream: token cache; ten seconds for valid ones, nothing
// for wrong ones). Keys are hashes under a key of this thread, over the token's length, the token and the audiences:
// neither memory nor the time of a look-up reveals a token, and results are cached per audience.
import crypto from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { limits } from "../config/limits.ts";
import { type SharedAnswer, waiting } from "../observe/spans.ts";
import { type Accepted, isAccepted, type Outcome, type TokenAuthenticator } from "./authenticator.ts";
import type { AuthnEvents } from "./events.ts";

interface Entry {
  /** Undefined: the token is not known. */
  readonly accepted: Accepted | undefined;
  /** On the monotonic clock. */
  readonly until: number;
}

/**
 * Caches results `inner` accepts for `ttlMs`, and tokens it does not know for `unknownMs`; refusals never. Equal
 * questions under way at once are asked once.
 */
export function cacheTokens(
  inner: TokenAuthenticator,
  clock: Clock,
  events: AuthnEvents,
  ttlMs: number,
  unknownMs = 0,
): TokenAuthenticator {
  const secret = crypto.randomBytes(32).toString("base64");
  // In the order they were made, which is the order they end in. Tokens that are not known, which any client can make up,
  // take no room from those of users.
  const entries = new Map<string, Entry>();
  const unknown = new Map<string, Entry>();
  const underWay = new Map<string, SharedAnswer<Outcome>>();

  const keep = (key: string, outcome: Outcome): Outcome => {
    events.fetched(outcome === undefined || isAccepted(outcome));
    if (!isAccepted(outcome) && (outcome !== undefined || unknownMs === 0)) return outcome;
    const kept = outcome === undefined ? unknown : entries;
    if (kept.size >= limits.tokenCacheMax) dropSome(kept, clock.monotonic());
    kept.set(key, { accepted: outcome, until: clock.monotonic() + (outcome === undefined ? unknownMs : ttlMs) });
    return outcome;
  };

  /** Counts a question that takes time, from its begin to its end. */
  const timed = (waited: Promise<Outcome>, how: "in_flight" | "blocked"): Promise<Outcome> => {
    const begunMs = clock.monotonic();
    events.fetching(how, 1);
    return waited.finally(() => {
      events.fetching(how, -1);
      events.cached("miss", (clock.monotonic() - begunMs) / 1000);
    });
  };

  return {
    authenticateToken: (token, audiences, ownerOf, spans) => {
      const key = keyOf(secret, token, audiences);
      const known = entries.get(key);
      const entry = known ?? unknown.get(key);
      if (entry !== undefined) {
        if (clock.monotonic() < entry.until && entry.accepted?.holds?.() !== false) {
          events.cached("hit", 0);
          return entry.accepted;
        }
        (known === undefined ? unknown : entries).delete(key);
      }
      const asked = underWay.get(key);
      if (asked !== undefined) return timed(waiting(spans, "wait for a token's review", asked), "blocked");
      const outcome = inner.authenticateToken(token, audiences, ownerOf, spans);
      if (!(outcome instanceof Promise)) {
        events.cached("miss", 0);
        return keep(key, outcome);
      }
      const kept = timed(outcome, "in_flight")
        .then((late) => keep(key, late))
        .finally(() => underWay.delete(key));
      underWay.set(key, { answer: kept, spans });
      return kept;
    },
  };
}

function keyOf(secret: string, token: string, audiences: readonly string[] | undefined): string {
  if (audiences === undefined) return digest(secret + token);
  // A key of the other form never has this prefix: headers hold no NUL.
  return digest(`${secret}\0${token.length}\0${token}\0${JSON.stringify(audiences)}`);
}

/** Node 20.12 and later have half the way. */
const digest: (text: string) => string =
  typeof crypto.hash === "function"
    ? (text) => crypto.hash("sha256", text, "binary")
    : (text) => crypto.createHash("sha256").update(text).digest("binary");

/** Makes room: evicts an expired entry, else the oldest. */
function dropSome(entries: Map<string, Entry>, now: number): void {
  let dropped = 0;
  for (const [key, { until }] of entries) {
    if (until > now && dropped > 0) return;
    entries.delete(key);
    dropped += 1;
  }
}
