// `/debug/pprof/`: where the time of a front thread goes. A CPU profile in the format Chrome's tools and others read;
// one at a time, bounded in time.
import { refuse } from "../../api/status.ts";
import { limits } from "../../config/limits.ts";
import { takeProfile } from "../../observe/profile.ts";
import { headersOf, type Reply, sendStatus, sendText } from "../answer/response.ts";
import type { NonResourceInfo } from "../route/info.ts";
import { first } from "../route/query.ts";

const index = `<html><head><title>/debug/pprof/</title></head><body>
<a href="profile?seconds=10">profile</a>: CPU of the front thread that answers, as a .cpuprofile
</body></html>
`;

let profiling = false;

/** Answers below `/debug/pprof`; false when the path is another. */
export async function serveProfile(info: NonResourceInfo, reply: Reply): Promise<boolean> {
  const { path } = info;
  if (path !== "/debug/pprof" && !path.startsWith("/debug/pprof/")) return false;
  if (path === "/debug/pprof") {
    reply.answered(302, 0);
    reply.exchange.send(302, headersOf(reply, "text/html; charset=utf-8", [["Location", "/debug/pprof/"]]), "");
  } else if (path === "/debug/pprof/") sendText(reply, 200, index, "text/html; charset=utf-8");
  else if (path === "/debug/pprof/profile") await sendProfile(info, reply);
  else return false;
  return true;
}

async function sendProfile(info: NonResourceInfo, reply: Reply): Promise<void> {
  const text = first(info.query, "seconds") ?? "10";
  const seconds = Number(text);
  if (!(seconds >= 1 && seconds <= limits.profileSecondsMax)) {
    const message = `seconds is ${JSON.stringify(text)}, must be between 1 and ${limits.profileSecondsMax}`;
    return sendStatus(reply, refuse("BadRequest", message));
  }
  if (profiling)
    return sendStatus(reply, refuse("TooManyRequests", "a profile is being taken already", { retryAfterSeconds: 1 }));
  profiling = true;
  try {
    const profile = await takeProfile(seconds);
    if (!reply.exchange.aborted) sendText(reply, 200, JSON.stringify(profile), "application/json");
  } finally {
    profiling = false;
  }
}
