// Structs as upstream prints them inside messages (Go's %#v), for the few types whose errors show one. Only for
// people's eyes; where a struct is large, or holds addresses of memory, the JSON form stands for it.
import type * as core from "../../api/gen/core/v1.ts";
import type * as meta from "../../api/gen/meta/v1.ts";
import { GoText, quote, stringList, stringMap } from "../../api/gotext.ts";
import type { RawJson } from "../../api/schema.ts";

/** `map[string]string`, nil when absent. */
export function goStringMap(map: ReadonlyMap<string, string> | undefined): GoText {
  return new GoText(map === undefined ? "map[string]string(nil)" : stringMap(map));
}

/** `[]string`, nil when absent. */
export function goStringList(list: readonly string[] | undefined, type = "[]string"): GoText {
  if (list === undefined) return new GoText(`${type}(nil)`);
  return new GoText(`${type}${stringList(list).slice("[]string".length)}`);
}

/** A label selector. */
export function goLabelSelector(selector: meta.LabelSelector | undefined): GoText | undefined {
  if (selector === undefined) return undefined;
  const expressions = selector.matchExpressions?.map(
    (e) =>
      `v1.LabelSelectorRequirement{Key:${quote(e.key)}, Operator:${quote(e.operator)}, Values:${goStringList(e.values).text}}`,
  );
  const list = expressions === undefined ? "(nil)" : `{${expressions.join(", ")}}`;
  return new GoText(
    `v1.LabelSelector{MatchLabels:${goStringMap(selector.matchLabels).text}, MatchExpressions:[]v1.LabelSelectorRequirement${list}}`,
  );
}

/** An int-or-string. */
export function goIntOrString(value: number | string): GoText {
  const [type, int, text] = typeof value === "number" ? [0, value, ""] : [1, 0, value];
  return new GoText(`intstr.IntOrString{Type:${type}, IntVal:${int}, StrVal:${quote(text)}}`);
}

/** A toleration. */
export function goToleration(t: core.Toleration): GoText {
  const seconds = t.tolerationSeconds === undefined ? "(*int64)(nil)" : `(*int64)(${t.tolerationSeconds})`;
  return new GoText(
    `core.Toleration{Key:${quote(t.key ?? "")}, Operator:${quote(t.operator ?? "")}, Value:${quote(t.value ?? "")}, ` +
      `Effect:${quote(t.effect ?? "")}, TolerationSeconds:${seconds}}`,
  );
}

/** Free-form data: the bytes of its text. */
export function goRaw(raw: RawJson | undefined): GoText | undefined {
  if (raw === undefined) return undefined;
  const bytes = [...Buffer.from(raw.text)].map((byte) => `0x${byte.toString(16)}`).join(", ");
  return new GoText(
    `runtime.Unknown{TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""}, Raw:[]uint8{${bytes}}, ContentEncoding:"", ContentType:"application/json"}`,
  );
}
