// A process of a load: it sends requests or holds watches of one server, and says each second what happened.
import { microseconds } from "./marks.ts";
import { Storm } from "./storm.ts";
import { Watching } from "./watching.ts";
import type { Message, ProcessData, Question } from "./work.ts";

const tickMs = 1000;

function tell(message: Message): void {
  process.send?.(message);
}

function start({ endpoint }: ProcessData): void {
  const watching = new Watching(endpoint);
  let storms: readonly Storm[] = [];
  setInterval(() => {
    const ticks = storms.map((storm) => storm.tick());
    const events = watching.tick();
    tell({ tell: "tick", ticks: events.count === 0 ? ticks : [...ticks, events] });
  }, tickMs);

  const answer = async (question: Question): Promise<void> => {
    switch (question.ask) {
      case "run": {
        const { works, seconds, changes } = question;
        storms = works.map((work) => new Storm(endpoint, work, changes));
        const results = await Promise.all(storms.map((storm) => storm.run(seconds)));
        storms = [];
        return tell({ tell: "ran", results, changes });
      }
      case "watch":
        await watching.open(question.watches, question.last);
        return tell({ tell: "ready" });
      case "report":
        return tell({ tell: "report", report: watching.report(question.isReset) });
      case "drop":
        watching.drop();
        return tell({ tell: "ready" });
      case "stop":
        process.exit(0);
    }
  };
  process.on("message", (question: Question) => {
    answer(question).catch((error: unknown) => tell({ tell: "failed", why: String(error) }));
  });
  microseconds();
  tell({ tell: "ready" });
}

process.once("message", start);
// A terminal sends it to all processes of a command: what started this one ends it.
process.on("SIGINT", () => undefined);
process.on("disconnect", () => process.exit(0));
