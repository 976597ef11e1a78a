// Wild objects of any message, drawn from its schema: about half of its fields, and values of which some fit.
import type { Field, Message } from "../../src/api/schema.ts";
import type { Draws } from "./random.ts";

const depthMax = 12;

const texts = [
  "",
  "a",
  "A",
  "web",
  "a/b",
  "a/b/c",
  "..",
  "%",
  "é",
  "\u0000",
  "__proto__",
  "10.0.0.1",
  "::1",
  "10.0.0.0/8",
  "1/2/3",
  "http",
  "None",
  "Always",
  "RollingUpdate",
  "Recreate",
  "Service",
  "ClusterIP",
  "LoadBalancer",
  "ExternalName",
  "Localhost",
  "TCP",
  "In",
  "Exists",
  "x".repeat(300),
  "* * * * *",
  "-----BEGIN CERTIFICATE-----",
];
const numbers = [0, 1, -1, 2, 80, 443, 65536, 2147483647, -2147483648];
const quantities = ["0", "1", "-1", "100m", "1Gi", "1e3", "1u", "0.5", "9223372036854775807", "1E"];
const times = ["2020-01-01T00:00:00Z", null];

/** Makes the JSON of messages. */
export function wildMaker({ next, chance, pick }: Draws): (message: Message) => unknown {
  function scalar(field: Field): unknown {
    switch (field.type) {
      case "bool":
        return chance(50);
      case "bytes":
        return Buffer.from(pick(texts)).toString("base64");
      case "Time":
      case "MicroTime":
        return pick(times);
      case "Quantity":
        return pick(quantities);
      case "IntOrString":
        return chance(50) ? pick(numbers) : pick(["", "50%", "101%", "http", "80"]);
      case "Duration":
        return "5s";
      case "raw":
        return pick([{}, { a: [1, "x"] }, "text", 5, null]);
      case "string":
        return field.enum.length > 0 && chance(70) ? pick(field.enum) : pick(texts);
      default:
        return pick(numbers);
    }
  }

  function value(field: Field, depth: number): unknown {
    if (chance(3)) return null;
    const one = () => (field.message ? wild(field.message, depth + 1) : scalar(field));
    if (field.cardinality === "list") return Array.from({ length: next(3) }, one);
    if (field.cardinality === "map") {
      return Object.fromEntries(Array.from({ length: next(3) }, () => [pick(texts), one()]));
    }
    return one();
  }

  // About half of the fields, fewer the deeper.
  function wild(message: Message, depth: number): unknown {
    if (message.special !== undefined) return pick([true, false, {}]);
    const json: Record<string, unknown> = {};
    if (depth > depthMax) return json;
    for (const field of message.byJson.values()) {
      if (chance(75 / (1 + depth / 4))) {
        Object.defineProperty(json, field.json, { value: value(field, depth), enumerable: true, configurable: true });
      }
    }
    return json;
  }

  return (message) => wild(message, 0);
}
