// Draws the report from the data in the page. Runs in a browser; uPlot is there before it.
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("report");
const styles = getComputedStyle(document.documentElement);
const color = (name) => styles.getPropertyValue(`--${name}`).trim();
const servers = [...new Set(data.cases.flatMap(({ sides }) => sides.map(({ target }) => target)))];
let serverColors = [];
const isComparison = servers.length === 2;

/** An element with text or children; strings are text, never HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat());
  return made;
}

/** A number with three or so digits, and thin spaces between thousands. */
function number(value, digits) {
  if (value === undefined || Number.isNaN(value)) return "–";
  const places = digits ?? (value >= 100 ? 0 : value >= 10 ? 1 : 2);
  const options = { minimumFractionDigits: places, maximumFractionDigits: places };
  return value.toLocaleString("en", options).replaceAll(",", "\u2009");
}

function section(title, about, ...children) {
  main.append(element("h2", {}, title), element("p", { class: "quiet" }, about), ...children);
}

function head() {
  const broken = data.thresholds.filter(({ isKept }) => !isKept);
  const [text, mood] =
    data.unfinished !== undefined
      ? ["not finished", "bad"]
      : data.faults.length > 0
        ? ["void: does not count", "bad"]
        : broken.length > 0
          ? [`${broken.length} of ${data.thresholds.length} thresholds not kept`, "bad"]
          : ["checks passed", "good"];
  main.append(
    element(
      "div",
      { class: "head" },
      element("h1", {}, data.heading),
      element("span", { class: `badge ${mood}` }, text),
    ),
    element(
      "p",
      { class: "quiet" },
      `${data.machine.date.replace("T", " ")} UTC, Node ${data.machine.node}, ${data.machine.cpu}, load average ${data.machine.load}, commit ${data.machine.commit}`,
    ),
    element("p", {}, element("code", {}, `npm run perf -- ${data.command}`)),
  );
  const note = (mood, title, lines) => {
    if (lines.length === 0) return;
    const items = lines.map((line) => element("li", {}, line));
    main.append(element("div", { class: `note ${mood}` }, element("strong", {}, title), element("ul", {}, items)));
  };
  note(
    "bad",
    "The run is not finished",
    data.unfinished === undefined
      ? []
      : [`${data.unfinished}: these are the rounds before that, and no results of a run`],
  );
  note("bad", "Why the run is void", data.faults);
  if (data.thresholds.length > 0) {
    const lines = data.thresholds.map(
      ({ text, isKept, found }) => `${text}: ${isKept ? "kept" : "not kept"}, ${found}`,
    );
    note(broken.length > 0 ? "bad" : "good", "Thresholds", lines);
  }
  const once = new Map(data.hints.map((hint) => [hint.replace(/\d/g, ""), hint]));
  note("warn", "What bounded it", [...once.values()]);
}

/** The first thing to read: of a comparison the ratios, of one server its figures. */
function lead() {
  const tiles = data.lines.map(({ title, target, growth, trend, verdict }) => [
    isComparison ? `${title}, ${target}` : title,
    trend === "unknown" ? "–" : trend,
    growth === null ? verdict : `at most ${number(growth)}× from one size to a larger one`,
  ]);
  for (const { name, sides } of data.lines.length > 0 ? [] : data.cases) {
    const [first, second] = sides;
    if (isComparison) {
      const cpu = data.comparisons.find((one) => one.case.split(":")[0] === name && one.figure.endsWith("server"));
      const whole = cpu ?? data.comparisons.find((one) => one.case.split(":")[0] === name);
      if (whole === undefined || second === undefined) continue;
      const unclear = whole.isOverlapping ? "no difference seen" : whole.figure;
      tiles.push([`${name}: ${servers[1]} / ${servers[0]}`, `${number(whole.ratio)}×`, unclear]);
    } else {
      const rows = first.rows.filter(({ isCause }) => !isCause).map(({ name: row }) => row);
      if (rows.length === 0) continue;
      const rate = rows.reduce((sum, row) => sum + (first.figures[`${row}.perSecond`] ?? 0), 0);
      const worst = Math.max(...rows.map((row) => first.figures[`${row}.p99Ms`] ?? 0));
      tiles.push([name, `${number(rate)}/s`, `p99 ${number(worst)} ms${rows.length > 1 ? ", the slowest kind" : ""}`]);
    }
  }
  const made = tiles.map(([title, big, small]) =>
    element(
      "div",
      { class: "tile" },
      element("span", { class: "quiet" }, title),
      element("b", {}, big),
      element("span", { class: "quiet" }, small),
    ),
  );
  main.append(element("div", { class: "lead" }, made));
}

const columns = [
  ["per s", "perSecond", true],
  ["p50 ms", "p50Ms", true],
  ["p99 ms", "p99Ms", true],
  ["p99.9 ms", "p999Ms", true],
  ["CPU µs per operation", "cpuUs", false],
  ["server CPU %", "server.cpuPercent", false],
  ["memory MiB", "server.memoryMib", false],
];

function table() {
  const rows = [];
  for (const { name, sides } of data.cases) {
    sides.forEach((side, index) => {
      side.rows.forEach((row, at) => {
        const cells = columns.map(([, figure, isOfRow]) => {
          if (!isOfRow && at > 0) return element("td", {}, "");
          return element("td", {}, number(side.figures[isOfRow ? `${row.name}.${figure}` : figure]));
        });
        const title = row.name === name ? name : `${name}: ${row.name}`;
        rows.push(
          element(
            "tr",
            index === 0 && at === 0 ? { class: "first" } : {},
            element("td", {}, title),
            element("td", { class: "text" }, side.target),
            cells,
          ),
        );
      });
    });
  }
  const heads = ["case", "server", ...columns.map(([title]) => title)].map((title, at) =>
    element("th", at < 2 ? { class: "text" } : {}, title),
  );
  const made = element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows));
  section(
    "Figures",
    "Medians over the rounds. CPU is that of all processes of a server, its etcd's too, per operation or event of the case as a whole.",
    element("div", { class: "scroll" }, made),
  );
}

/** Figures that only the scenario has; of a comparison they stand among the others. */
function ownFigures() {
  const rows = data.cases.flatMap(({ name, sides }) =>
    [...new Set(sides.flatMap(({ own }) => own))].map((figure) =>
      element(
        "tr",
        {},
        element("td", {}, name),
        element("td", { class: "text" }, figure),
        sides.map(({ figures }) => element("td", {}, number(figures[figure]))),
      ),
    ),
  );
  if (rows.length === 0 || isComparison) return;
  const heads = ["case", "figure", ...data.cases[0].sides.map(({ target }) => target)].map((title, at) =>
    element("th", at < 2 ? { class: "text" } : {}, title),
  );
  const made = element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows));
  section(
    "Figures of this scenario",
    "Medians over the rounds; units end the names, and the help of the scenario says what they mean.",
    element("div", { class: "scroll" }, made),
  );
}

function comparison() {
  if (data.comparisons.length === 0) return;
  let before = "";
  const rows = data.comparisons.map((one) => {
    const isFirst = one.case !== before;
    before = one.case;
    const mood = one.isOverlapping ? "quiet" : one.ratio < 1 === (one.figure !== "per second") ? "good" : "bad";
    return element(
      "tr",
      isFirst ? { class: "first" } : {},
      element("td", {}, isFirst ? one.case : ""),
      element("td", { class: "text" }, one.figure),
      [one.first, one.second].map(({ median, spread }) =>
        element("td", {}, median, element("span", { class: "spread" }, spread)),
      ),
      element("td", { class: mood }, `${number(one.ratio)}×`),
      element("td", { class: "text quiet spread" }, one.isOverlapping ? "no difference seen" : ""),
    );
  });
  const heads = ["case", "figure", servers[0], servers[1], "ratio", ""].map((title, at) =>
    element("th", { class: at < 2 ? "text" : at === 5 ? "spread" : "" }, title),
  );
  const made = element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows));
  section(
    "Side by side",
    "Median, and the least and greatest of the rounds in brackets where there is room. Grey: the spreads overlap, no difference was seen.",
    element("div", { class: "scroll" }, made),
  );
}

const axis = (label, values) => ({
  label,
  stroke: color("quiet"),
  grid: { stroke: color("line"), width: 1 },
  ticks: { stroke: color("line"), width: 1 },
  font: "12px system-ui, sans-serif",
  labelFont: "12px system-ui, sans-serif",
  labelSize: 16,
  size: label === "seconds" || label === "percentile" ? 34 : 58,
  ...(values === undefined ? {} : { values }),
});

/** Costs over sizes, both axes logarithmic, so that a factor is as long everywhere. */
function growth() {
  const holder = element("div", { class: "grid" });
  for (const name of new Set(data.lines.map((line) => line.name))) {
    const lines = data.lines.filter((line) => line.name === name && line.points.length > 0);
    const [some] = lines;
    if (some === undefined) continue;
    const counts = [...new Set(lines.flatMap(({ points }) => points.map(({ count }) => count)))].sort((a, b) => a - b);
    const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
    const [low, high] = [Math.min(...values) / 2, Math.max(...values) * 2];
    const said = lines.map(({ target, trend, verdict }) =>
      element(
        "p",
        { class: trend === "grows" ? "bad" : trend === "unknown" ? "quiet" : "good" },
        isComparison ? `${target}: ${verdict}` : verdict,
      ),
    );
    const place = element("div", { class: "chart" }, element("h3", {}, `${some.title}, ${some.unit}`), said);
    holder.append(place);
    const value = (_, shown) => (shown === null || shown === undefined ? "–" : `${number(shown)} ${some.unit}`);
    const series = lines.flatMap(({ target }) => {
      const stroke = serverColors[servers.indexOf(target)];
      return [
        { label: target, stroke, width: 2, points: { show: true, size: 8, fill: stroke }, value },
        {
          label: `${target}, in proportion`,
          stroke: color("quiet"),
          width: 1.3,
          dash: [6, 5],
          points: { show: false },
          value,
        },
      ];
    });
    const lists = lines.flatMap(({ points }) => [
      counts.map((count) => points.find((point) => point.count === count)?.value ?? null),
      counts.map((count) => (count < points[0].count ? null : points[0].value)),
    ]);
    // By itself a logarithmic axis names powers of ten only.
    const all = (_, splits) => splits;
    const short = (count) => (count >= 1000 ? `${count / 1000}k` : `${count}`);
    waiting.push(() =>
      chart(
        place,
        {
          height: 240,
          scales: {
            x: { time: false, distr: 3, range: [counts[0] / 1.6, counts.at(-1) * 1.6] },
            y: { distr: 3, range: [low, high] },
          },
          axes: [
            { ...axis("seconds", (_, splits) => splits.map(short)), label: some.of, splits: () => counts, filter: all },
            {
              ...axis(some.unit, (_, splits) =>
                splits.map((split) => number(split, split < 1 ? 2 : split < 10 ? 1 : 0)),
              ),
              splits: () => splitsBetween(low, high),
              filter: all,
            },
          ],
          series: [{ label: some.of, value: (_, count) => (count === null ? "–" : number(count, 0)) }, ...series],
        },
        [counts, ...lists],
      ),
    );
  }
  if (holder.childElementCount === 0) return;
  section(
    "Growth",
    "Cost per unit over the size, both axes logarithmic. The dashed line through the first point is a cost in proportion to the size: below it the cost of a unit falls, above it it grows. The verdict looks at each pair of sizes; differences below a quarter are none.",
    legend(
      servers.map((name, at) => [name, serverColors[at]]),
      [["in proportion to the first size", "dash"]],
    ),
    holder,
  );
}

/** 1, 2 and 5 of each power of ten between two numbers. */
function splitsBetween(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const digit of [1, 2, 5]) {
      const split = digit * 10 ** power;
      if (split >= low && split <= high) found.push(split);
    }
  }
  return found;
}

const charts = [];
/** Charts whose places are not in the document yet: they are as wide as those. */
const waiting = [];
function chart(holder, options, values) {
  const width = () => Math.max(240, holder.clientWidth);
  const made = new uPlot({ width: width(), ...options }, values, holder);
  charts.push(() => made.setSize({ width: width(), height: options.height }));
}
addEventListener("resize", () => {
  for (const resize of charts) resize();
});

const moments = data.cases.flatMap(({ sides }) =>
  sides.flatMap(({ rounds }) => rounds.flatMap(({ at, samples }) => [at, ...samples.map(({ t }) => at + t)])),
);
const runEnds = moments.length === 0 ? [] : [Math.min(...moments), Math.max(...moments)];

/** Points of all rounds on one axis, with a gap between rounds. Returns the axis and one list for each series. */
function onOneAxis(series) {
  // The same ends in all charts.
  const times = new Set(runEnds);
  for (const { points } of series) for (const [t] of points) if (t !== undefined) times.add(t);
  const axisTimes = [...times].sort((a, b) => a - b);
  const places = new Map(axisTimes.map((t, at) => [t, at]));
  const lists = series.map(({ points }) => {
    const list = new Array(axisTimes.length).fill(undefined);
    for (const [t, value] of points) list[places.get(t)] = value;
    // From the end of a round to the begin of the next one all is gap: uPlot bridges what is undefined.
    let isGap = true;
    return list.map((value) => {
      if (value !== undefined) isGap = value === null;
      return isGap ? null : value;
    });
  });
  return [axisTimes, ...lists];
}

/** Lines and names where cases begin. */
const caseMarks = {
  hooks: {
    draw: [
      (plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
        ctx.fillStyle = color("quiet");
        ctx.strokeStyle = color("quiet");
        ctx.textAlign = "left";
        ctx.textBaseline = "alphabetic";
        ctx.setLineDash([3, 4]);
        let free = 0;
        for (const { name, sides } of data.cases) {
          const begin = Math.min(...sides.flatMap(({ rounds }) => rounds.map(({ at }) => at)));
          const x = plot.valToPos(begin, "x", true);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          if (x < free) continue;
          ctx.fillText(name, x + 4, bbox.top + 11 * devicePixelRatio);
          free = x + ctx.measureText(name).width + 10;
        }
        ctx.restore();
      },
    ],
  },
};

function timeline() {
  const holder = element("div");
  const kinds = [
    [
      "Throughput",
      "per second",
      (round, add) => {
        const seconds = new Map();
        for (const { t, name, count } of round.counted) {
          if (name === "changes") continue;
          const second = Math.round(t);
          seconds.set(second, (seconds.get(second) ?? 0) + count);
        }
        for (const [t, count] of seconds) add("", round.at + t, count);
      },
    ],
    [
      "Latency, 99th percentile of each second",
      "ms",
      (round, add) => {
        const seconds = new Map();
        for (const { t, p99Ms, count } of round.counted)
          if (count > 0) seconds.set(Math.round(t), Math.max(seconds.get(Math.round(t)) ?? 0, p99Ms));
        for (const [t, value] of seconds) add("", round.at + t, value);
      },
    ],
    [
      "CPU",
      "% of a core",
      (round, add) => {
        for (const { t, cpu } of round.samples)
          for (const [name, value] of Object.entries(cpu)) add(name, round.at + t, value);
      },
    ],
    [
      "Memory",
      "MiB",
      (round, add) => {
        for (const { t, memoryMib } of round.samples)
          for (const [name, value] of Object.entries(memoryMib)) if (name !== "client") add(name, round.at + t, value);
      },
    ],
  ];
  const dashes = new Map();
  section(
    "In the course of the run",
    "All rounds on one axis, seconds since the run began; rounds of servers take turns. Drag to zoom in, double-click to see all.",
    legend(
      servers.map((name, at) => [name, serverColors[at], ""]),
      [
        ["etcd and other processes of a server", "dash"],
        ["the load's own processes", "dot"],
      ],
    ),
    holder,
  );
  for (const [title, unit, read] of kinds) {
    const series = new Map();
    data.cases.forEach(({ sides }) => {
      sides.forEach(({ target, rounds }, at) => {
        const touched = new Set();
        const add = (process, t, value) => {
          const label = process === "" || process === "server" ? target : `${target}, ${process}`;
          if (!series.has(label)) {
            const dash = process === "" || process === "server" ? [] : process === "client" ? [2, 4] : [8, 4];
            dashes.set(label, dash);
            series.set(label, {
              label,
              color: serverColors[servers.indexOf(target) < 0 ? at : servers.indexOf(target)],
              dash,
              points: [],
            });
          }
          touched.add(label);
          series.get(label).points.push([t, value]);
        };
        for (const round of rounds) {
          touched.clear();
          read(round, add);
          // A gap behind each round; null, unlike undefined, is not bridged.
          for (const label of touched) {
            const { points } = series.get(label);
            points.push([points.at(-1)[0] + 0.001, null]);
          }
        }
      });
    });
    const all = [...series.values()];
    if (all.length === 0) continue;
    const place = element("div", { class: "chart" }, element("h3", {}, `${title}, ${unit}`));
    holder.append(place);
    chart(
      place,
      {
        height: 190,
        cursor: { sync: { key: "time" } },
        legend: { live: true },
        scales: { x: { time: false } },
        axes: [axis("seconds"), axis(unit)],
        plugins: [caseMarks],
        series: [
          { label: "s", value: (_, value) => (value === null ? "–" : value.toFixed(1)) },
          ...all.map((one) => ({
            label: one.label,
            stroke: one.color,
            width: one.dash.length === 0 ? 2 : 1.3,
            dash: one.dash,
            spanGaps: false,
            points: { show: one.points.length < 60, size: 4 },
            value: (_, value) => number(value ?? undefined),
          })),
        ],
      },
      onOneAxis(all),
    );
  }
}

function legend(colors, shapes = []) {
  return element(
    "div",
    { class: "legend" },
    colors.map(([name, tint]) => element("span", {}, element("i", { style: `border-color:${tint}` }), name)),
    shapes.map(([name, shape]) =>
      element("span", {}, element("i", { class: shape, style: `border-color:${color("quiet")}` }), name),
    ),
  );
}

/** Percentiles: the axis gives each nine the same room. */
function curves(what, title, about) {
  const holder = element("div", { class: "grid" });
  let isAny = false;
  const nines = data.shares.map((share) => (share === 1 ? 5 : -Math.log10(1 - share)));
  for (const { name, sides } of data.cases) {
    const names = [...new Set(sides.flatMap(({ rows }) => rows.map((row) => row.name)))];
    for (const row of names) {
      const lists = sides.map(({ rows }) => rows.find((one) => one.name === row)?.[what] ?? []);
      if (lists.every((list) => list.length === 0)) continue;
      isAny = true;
      const place = element("div", { class: "chart" }, element("h3", {}, row === name ? name : `${name}: ${row}`));
      holder.append(place);
      waiting.push(() =>
        chart(
          place,
          {
            height: 230,
            scales: { x: { time: false, range: [0, 5.1] }, y: { distr: 3 } },
            axes: [
              {
                ...axis("percentile"),
                splits: () => [0.301, 1, 2, 3, 4, 5],
                values: () => ["50", "90", "99", "99.9", "99.99", "max"],
              },
              axis("ms, logarithmic", (_, splits) =>
                splits.map((value) =>
                  /^[125]/.test(String(value).replace(/[0.]/g, "")) && Math.log10(value) % 1 === 0
                    ? number(value, value < 1 ? 2 : 0)
                    : "",
                ),
              ),
            ],
            series: [
              {
                label: "percentile",
                value: (_, value) =>
                  value === null ? "–" : value >= 5 ? "max" : `${(100 * (1 - 10 ** -value)).toFixed(2)}`,
              },
              ...sides.map((side) => ({
                label: side.target,
                stroke: serverColors[servers.indexOf(side.target)],
                width: 2,
                value: (_, value) => (value === null || value === undefined ? "–" : `${number(value)} ms`),
              })),
            ],
          },
          [nines, ...lists.map((list) => list.map((value) => Math.max(0.001, value)))],
        ),
      );
    }
  }
  if (isAny) section(title, about, legend(servers.map((name, at) => [name, serverColors[at]])), holder);
}

const stageNames = [
  ["queueMs", "queues of flow control", "s4"],
  ["storageMs", "storage", "s0"],
  ["admissionMs", "admission", "s1"],
  ["handlerMs", "other work of the handler", "s2"],
  ["outsideMs", "outside the handler: network, TLS, the client", "s3"],
];

function stages() {
  const lines = [];
  for (const { name, sides } of data.cases) {
    const told = sides.filter((side) => side.stages !== undefined);
    const total = (side) => stageNames.reduce((sum, [key]) => sum + side.stages[key], 0);
    const most = Math.max(...told.map(total));
    for (const side of told) {
      const parts = stageNames.map(([key, title, style]) =>
        element("span", {
          class: style,
          style: `width:${(100 * side.stages[key]) / most}%`,
          title: `${title}: ${number(side.stages[key])} ms`,
        }),
      );
      lines.push(
        element(
          "div",
          { class: "stage" },
          element("span", {}, isComparison ? `${name}, ${side.target}` : name),
          element("div", { class: "bar" }, parts),
          element("span", {}, `${number(total(side))} ms`),
        ),
      );
    }
  }
  if (lines.length === 0) return;
  const keys = stageNames.map(([, title, style]) =>
    element("span", {}, element("span", { class: `key ${style}` }), title),
  );
  section(
    "Where a request's time goes",
    "The average request as its client saw it, divided by what the server tells at /metrics: apiserver_request_duration_seconds, etcd_request_duration_seconds, the waits of flow control and the admission steps. Bars of one case have one scale.",
    element("div", { class: "legend" }, keys),
    ...lines,
  );
}

function draw() {
  serverColors = servers.map((_, at) => color(["a", "b", "c"][at % 3]));
  charts.length = 0;
  main.replaceChildren();
  head();
  lead();
  growth();
  comparison();
  table();
  ownFigures();
  timeline();
  curves(
    "curve",
    "Latency percentiles",
    "Medians over the rounds. Requests: from when they were due, or sent in a closed loop, to the end of the answer. Events: from sending the change to the event at the watcher.",
  );
  curves("skew", "Fan-out skew", "Of each change, from the first watcher that had its event to the last.");
  stages();
  for (const show of waiting.splice(0)) show();
}

draw();
// Charts are pictures: they do not follow the style by themselves.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
document.documentElement.dataset.drawn = "yes";
