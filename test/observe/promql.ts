// What the files of scripts/monitoring ask Prometheus: expressions, and the metrics and labels in them.
import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { parse as parseYaml } from "yaml";

const folder = new URL("../../../scripts/monitoring/", import.meta.url);

/** One expression. */
export interface Expression {
  /** In which file, and for what. */
  readonly where: string;
  readonly text: string;
  /** Labels that texts beside it show. */
  readonly shown: readonly string[];
  /** The metric it is recorded as. */
  readonly record?: string | undefined;
}

/** A metric, and labels it has to have. */
export interface Used {
  readonly name: string;
  readonly labels: ReadonlySet<string>;
}

/** A file of that folder. */
export function monitoringFile(name: string): string {
  return readFileSync(new URL(name, folder), "utf8");
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

/** Expressions of the dashboard; Grafana's variables have values. */
export function dashboardExpressions(): Expression[] {
  const { panels } = JSON.parse(monitoringFile("dashboard.json")) as { readonly panels: readonly Panel[] };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `dashboard.json: ${title}`,
      text: expr.replaceAll("$__rate_interval", "5m"),
      shown: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label),
    })),
  );
}

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Rules, one after the other. */
export function rules(): readonly Rule[] {
  const { groups } = parseYaml(monitoringFile("rules.yaml")) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  };
  return groups.flatMap((group) => group.rules);
}

/** Their expressions. */
export function ruleExpressions(): Expression[] {
  return rules().map(({ record, alert, expr, annotations = {} }) => ({
    where: `rules.yaml: ${record ?? alert}`,
    text: expr,
    shown: [
      ...Object.values(annotations)
        .join(" ")
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label = ""]) => label),
    record,
  }));
}

/** Metrics of an expression with the labels that it selects or groups them by; a text: it is no PromQL, and where. */
export function usedIn(text: string): readonly Used[] | string {
  const metrics: { readonly from: number; readonly to: number; readonly name: string; readonly labels: Set<string> }[] =
    [];
  const groupings: { readonly from: number; readonly to: number; readonly label: string }[] = [];
  let fault: string | undefined;
  parser.parse(text).iterate({
    enter: (node) => {
      if (node.type.isError) fault ??= `${text.slice(0, node.from)} <- here`;
      const inside = text.slice(node.from, node.to);
      if (node.name === "VectorSelector") {
        const name = /^[\w:]+/.exec(inside)?.[0] ?? "";
        metrics.push({ from: node.from, to: node.to, name, labels: new Set() });
      }
      if (node.name !== "LabelName") return;
      const own = metrics.find(({ from, to }) => from <= node.from && node.to <= to);
      if (own !== undefined) own.labels.add(inside);
      // Of an aggregation, or of the match of two sides.
      const whole = node.node.parent?.parent?.parent;
      if (own === undefined && whole !== null && whole !== undefined)
        groupings.push({ from: whole.from, to: whole.to, label: inside });
    },
  });
  if (fault !== undefined) return fault;
  for (const { from, to, label } of groupings)
    for (const metric of metrics) if (from <= metric.from && metric.to <= to) metric.labels.add(label);
  return metrics.map(({ name, labels }) => ({ name, labels }));
}
