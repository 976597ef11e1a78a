// What a request of a crossing run asks, and what its answer must say about whoever sent it.
import { owners, type Sender } from "./cast.ts";

/** A question, one of a few that only its sender gets this answer to. */
export interface Question {
  /** Method and path. */
  readonly line: string;
  readonly body: string;
  /** What is wrong with an answer; undefined: it is the sender's. */
  readonly judge: (sender: Sender, code: number, text: string) => string | undefined;
}

const maps = "/api/v1/namespaces/default/configmaps";

/** A list only administrators may have: the refusal names who asked. */
const list: Question = {
  line: "GET /api/v1/nodes",
  body: "",
  judge: (sender, code, text) =>
    sender.rights === "all" ? expectCode(code, 200, text) : expectRefusal(sender, code, text, "cannot list resource"),
};

/** Every owner's object: the owner reads it, every other user is refused by name. */
const reads = owners.map((owner, index): Question => {
  return {
    line: `GET ${maps}/box-${index}`,
    body: "",
    judge: (sender, code, text) => {
      if (sender.rights !== "all" && (sender.who !== owner || sender.rights === "none"))
        return expectRefusal(sender, code, text, `cannot get resource \\"configmaps\\"`);
      if (code !== 200) return `answered ${code}: ${text.slice(0, 300)}`;
      return text.includes(`"owner":"${owner}"`) ? undefined : `got another object: ${text.slice(0, 300)}`;
    },
  };
});

/** The same as a question: may I read it? */
const reviews = owners.map((owner, index): Question => {
  const attributes = { namespace: "default", verb: "get", resource: "configmaps", name: `box-${index}` };
  return {
    line: "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: JSON.stringify({ spec: { resourceAttributes: attributes } }),
    judge: (sender, code, text) => {
      if (sender.who === "" || sender.rights === "none" || sender.who === "system:anonymous")
        return expectRefusal(sender, code, text, "cannot create resource");
      if (code !== 201) return `answered ${code}: ${text.slice(0, 300)}`;
      const may = sender.rights === "all" || sender.who === owner;
      return text.includes(`"allowed":${may}`) ? undefined : `was told of another's rights: ${text.slice(0, 300)}`;
    },
  };
});

/** All of them, lists and reads more often than reviews. */
export const questions: readonly Question[] = [...Array<Question>(4).fill(list), ...reads, ...reads, ...reviews];

function expectCode(code: number, wanted: number, text: string): string | undefined {
  return code === wanted ? undefined : `answered ${code}, not ${wanted}: ${text.slice(0, 300)}`;
}

/** 401 without a user, else a 403 that names who asked. */
function expectRefusal(sender: Sender, code: number, text: string, why: string): string | undefined {
  if (sender.who === "") return expectCode(code, 401, text);
  const wanted = sender.rights === "none" ? "cannot impersonate resource" : why;
  const named = /User \\"([^\\]+)\\" (.*)/.exec(text);
  if (code === 403 && named?.[1] === sender.who && named[2]?.startsWith(wanted) === true) return undefined;
  return `answered ${code}: ${text.slice(0, 300)}`;
}
