// The script of /debug/console: asks for the data every two seconds, keeps two minutes of it, and draws.
// Everything that comes from the server is put in as text, never as markup.
import {
  bytesText,
  distributionBetween,
  findingsOf,
  percent,
  quantileOf,
  rate,
  secondsBetween,
  threadRates,
} from "../findings.ts";
import { drawFlame } from "./flame.js";

const periodMs = 2000;
const samplesMax = 60;
const samples = [];
const history = new Map();
const svgNamespace = "http://www.w3.org/2000/svg";

const at = (id) => document.getElementById(id);

/** An element with attributes and children; texts become text nodes. */
function el(name, attributes = {}, ...children) {
  const isSvg = ["svg", "rect", "path", "text", "title", "g"].includes(name);
  const made = isSvg ? document.createElementNS(svgNamespace, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

function remember(name, value) {
  const values = history.get(name) ?? [];
  values.push(value);
  if (values.length > samplesMax) values.shift();
  history.set(name, values);
}

function spark(name) {
  const values = history.get(name) ?? [];
  const most = Math.max(...values, 1e-9);
  const x = (index) => 100 - (values.length - 1 - index) * (100 / (samplesMax - 1));
  const points = values.map((value, index) => `${x(index).toFixed(2)},${(27 - (26 * value) / most).toFixed(2)}`);
  const svg = el("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" });
  if (points.length > 1) {
    svg.append(el("path", { class: "area", d: `M${x(0).toFixed(2)},28L${points.join("L")}L100,28Z` }));
    svg.append(el("path", { class: "line", d: `M${points.join("L")}` }));
  }
  return svg;
}

function bar(part, label, limits = [0.6, 0.85]) {
  const fill = part >= limits[1] ? "bad-fill" : part >= limits[0] ? "warn-fill" : "good-fill";
  const svg = el("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  const width = Math.min(100, Math.max(part > 0 ? 1 : 0, part * 100));
  svg.append(el("rect", { class: fill, x: 0, y: 0, height: 10, width }));
  return el("span", { class: "bar" }, svg, el("span", {}, label));
}

/** A table: columns are [title, class, cell]; what a cell makes is text or an element. */
function table(columns, rows, none) {
  if (rows.length === 0) return el("p", { class: "none" }, none);
  const head = el("tr", {}, ...columns.map(([title, kind]) => el("th", { class: kind }, title)));
  const body = rows.map((row) =>
    el(
      "tr",
      {},
      ...columns.map(([, kind, cell]) => {
        const made = cell(row);
        return el("td", { class: kind, title: kind?.includes("long") ? String(made) : undefined }, made);
      }),
    ),
  );
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
}

const put = (id, ...children) => at(id).replaceChildren(...children);

function duration(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

const ms = (value) =>
  value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value >= 10 ? Math.round(value) : value.toFixed(1)} ms`;
const count = (value) => (value === undefined ? "–" : value.toLocaleString("en"));

function drawHeadline(found) {
  const [first, ...others] = found;
  const card = at("headline");
  card.className = `card headline ${first.severity}`;
  const rest = others
    .slice(0, 5)
    .map((one) =>
      el("li", { class: one.severity }, one.text, " ", el("em", {}, one.advice === "" ? "" : `— ${one.advice}`)),
    );
  card.replaceChildren(
    el("strong", {}, first.text),
    el("em", {}, first.advice),
    ...(rest.length === 0 ? [] : [el("ul", {}, ...rest)]),
  );
}

function drawTiles(before, now) {
  const seconds = secondsBetween(before, now);
  const per = (read) => Math.max(0, (read(now) - read(before)) / seconds);
  const commits = distributionBetween(before.store.commit, now.store.commit);
  const watchBytes = (data) => data.threads.reduce((sum, thread) => sum + (thread.watchBytes ?? 0), 0);
  const { clients } = now;
  const listBytes = clients.listBytes.reduce((sum, one) => sum + one.count, 0) / (clients.seconds || 1);
  const watchers = now.threads.reduce((sum, thread) => sum + (thread.watchers ?? 0), 0);
  const connections = now.threads.reduce((sum, thread) => sum + (thread.connections ?? 0), 0);
  const rows = [
    ["Requests", per((data) => data.requests.total), (value) => [rate(value), "/s"]],
    ["Answered 429", per((data) => data.requests.byCode["429"]), (value) => [rate(value), "/s"]],
    ["List bytes", listBytes, (value) => [bytesText(value), "/s"]],
    ["Watch bytes", per(watchBytes), (value) => [bytesText(value), "/s"]],
    ["Changes", per((data) => data.store.committed), (value) => [rate(value), "/s"]],
    ["Commit, mean", commits.count > 0 ? (1000 * commits.sum) / commits.count : 0, (value) => [value.toFixed(1), "ms"]],
    ["CPU", per((data) => data.process.cpuSeconds), (value) => [value.toFixed(2), `of ${now.about.cores} cores`]],
    ["Memory", now.process.residentBytes, (value) => [bytesText(value), ""]],
  ];
  put(
    "tiles",
    ...rows.map(([name, value, text]) => {
      remember(name, value);
      const [shown, unit] = text(value);
      return el("div", { class: "tile" }, el("span", {}, name), el("b", {}, shown, el("i", {}, unit)), spark(name));
    }),
  );
  at("about").textContent =
    `${now.about.version} (${now.about.release}, ${now.about.identity}) · Node ${now.about.node} · up ${duration(now.uptimeSeconds)} · ${count(connections)} connections · ${count(watchers)} watches`;
}

function drawThreads(before, now) {
  const rows = threadRates(before, now);
  for (const { name, cpu } of rows) remember(`cpu ${name}`, cpu);
  put(
    "threads",
    table(
      [
        ["Thread", "name", ({ name }) => name],
        ["CPU, of a core", "", ({ cpu }) => bar(cpu, percent(cpu))],
        ["Last two minutes", "wider", ({ name }) => spark(`cpu ${name}`)],
        [
          "Busy",
          "n",
          ({ active, now: { activeSeconds } }) => (activeSeconds === undefined ? "–" : percent(Math.min(1, active))),
        ],
        [
          "Lag",
          "n",
          ({ lagMs, now: { lagCount } }) =>
            lagCount === undefined
              ? "–"
              : el("span", { class: lagMs >= 100 ? "bad-text" : lagMs >= 20 ? "warn-text" : "" }, ms(lagMs)),
        ],
        ["Connections", "n wider", ({ now: { connections } }) => count(connections)],
        ["Watches", "n", ({ now: { watchers } }) => count(watchers)],
        [
          "Watch bytes/s",
          "n wider",
          ({ watchBytesPerSecond, now: { watchBytes } }) =>
            watchBytes === undefined ? "–" : bytesText(watchBytesPerSecond),
        ],
        ["Changes waiting", "n wider", ({ now: { queuedChanges } }) => count(queuedChanges)],
        [
          "Pool: waiting / running",
          "n wider",
          ({ now: { poolWaiting, poolRunning } }) =>
            poolWaiting === undefined ? "–" : `${poolWaiting} / ${poolRunning}`,
        ],
      ],
      rows,
      "no thread has told anything yet",
    ),
  );
}

function drawClients({ clients }) {
  const users = new Map();
  for (const of of ["requests", "listBytes", "watches"])
    for (const { user, count: amount } of clients[of]) users.set(user, { ...users.get(user), user, [of]: amount });
  const total = (of) =>
    Math.max(
      1,
      clients[of].reduce((sum, one) => sum + one.count, 0),
    );
  const totals = { requests: total("requests"), listBytes: total("listBytes"), watches: total("watches") };
  const part = (row, of) => (row[of] ?? 0) / totals[of];
  const rows = [...users.values()]
    .sort(
      (a, b) =>
        part(b, "requests") +
        part(b, "listBytes") +
        part(b, "watches") -
        part(a, "requests") -
        part(a, "listBytes") -
        part(a, "watches"),
    )
    .slice(0, 12);
  const { seconds } = clients;
  put(
    "clients",
    table(
      [
        ["User", "name long", ({ user }) => user || "(none)"],
        ["Requests/s", "", (row) => bar(part(row, "requests"), rate((row.requests ?? 0) / seconds), [0.5, 2])],
        ["List bytes/s", "", (row) => bar(part(row, "listBytes"), bytesText((row.listBytes ?? 0) / seconds), [0.5, 2])],
        ["Watches", "", (row) => bar(part(row, "watches"), count(row.watches ?? 0), [0.9, 2])],
      ],
      rows,
      "no client has asked for anything lately",
    ),
  );
}

function histogram({ bounds, counts }) {
  const used = counts
    .map((value, index) => ({ value, bound: bounds[index] }))
    .filter(({ bound }) => bound !== undefined);
  const most = Math.max(...used.map(({ value }) => value), 1);
  const svg = el("svg", {
    class: "hist",
    viewBox: `0 0 ${used.length * 44} 84`,
    role: "img",
    "aria-label": "Commits by how long they took",
  });
  for (const [index, { value, bound }] of used.entries()) {
    const height = (62 * value) / most;
    svg.append(
      el("rect", {
        x: index * 44 + 5,
        y: 66 - height,
        width: 34,
        height: Math.max(height, value > 0 ? 1.5 : 0),
        rx: 2,
      }),
    );
    svg.append(
      el(
        "text",
        { x: index * 44 + 22, y: 80, "text-anchor": "middle" },
        bound < 1 ? `${bound * 1000} ms` : `${bound} s`,
      ),
    );
  }
  return svg;
}

function drawStore(first, now) {
  const commits = distributionBetween(first.store.commit, now.store.commit);
  const batches = distributionBetween(first.store.batch, now.store.batch);
  const rows = [
    [
      "Half below, 99 % below",
      commits.count === 0 ? "–" : `${ms(1000 * quantileOf(commits, 0.5))}, ${ms(1000 * quantileOf(commits, 0.99))}`,
    ],
    ["Changes in a commit", batches.count === 0 ? "–" : (batches.sum / batches.count).toFixed(1)],
    ["Changes waiting", count(now.store.queued)],
    ["Refused", count(now.store.refused - first.store.refused)],
    ["Revision", count(now.store.revision)],
    ["File", bytesText(now.store.fileBytes)],
    ["Logs: used, free to use again", `${bytesText(now.store.logUsedBytes)}, ${bytesText(now.store.logFreeBytes)}`],
  ];
  put(
    "store",
    el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    commits.count === 0 ? el("p", { class: "none" }, "nothing was written") : histogram(commits),
  );
}

function drawCodes(before, now) {
  const seconds = secondsBetween(before, now);
  const per = (code) => Math.max(0, (now.requests.byCode[code] - before.requests.byCode[code]) / seconds);
  const all = Math.max(
    1e-9,
    ["2xx", "3xx", "4xx", "5xx"].reduce((sum, code) => sum + per(code), 0),
  );
  const rows = [
    ["2xx", "done"],
    ["3xx", "elsewhere, or not changed"],
    ["4xx", "refused"],
    ["429", "of these: too many"],
    ["410", "of these: too old"],
    ["5xx", "failed"],
  ];
  put(
    "codes",
    table(
      [
        ["Code", "name", ([code]) => code],
        ["", "dim", ([, text]) => text],
        [
          "A second",
          "",
          ([code]) => bar(per(code) / all, rate(per(code)), code[0] === "2" || code[0] === "3" ? [2, 2] : [0.02, 0.2]),
        ],
        ["Since the start", "n", ([code]) => count(now.requests.byCode[code])],
      ],
      rows,
      "",
    ),
    el(
      "p",
      { class: "dim" },
      `${count(now.requests.inflight)} under way · ${count(now.requests.dropped)} dropped · ${count(now.requests.faults)} faults`,
    ),
  );
}

const stageColors = new Map();
function colorOf(stage) {
  if (!stageColors.has(stage)) stageColors.set(stage, `s${stageColors.size % 8}`);
  return stageColors.get(stage);
}

function stagesBar(stages, total) {
  const svg = el("svg", { class: "stages", viewBox: "0 0 100 12", preserveAspectRatio: "none" });
  let x = 0;
  for (const [stage, value] of stages) {
    const width = (100 * value) / Math.max(total, 1e-9);
    svg.append(
      el("rect", { class: colorOf(stage), x, y: 0, width, height: 12 }, el("title", {}, `${stage} ${ms(value)}`)),
    );
    x += width;
  }
  return svg;
}

function drawSlow({ slowRequests, at: nowMs }) {
  const rows = slowRequests.slice(0, 12);
  const longest = (stages) => stages.reduce((most, one) => (one[1] > most[1] ? one : most), ["", 0]);
  // Those that can be seen in a bar.
  const seen = ({ stages, ms: total }) => stages.filter(([, value]) => value >= 0.02 * total).map(([stage]) => stage);
  const legend = [...new Set(rows.flatMap(seen))];
  put(
    "slow",
    table(
      [
        ["Ago", "n", (row) => duration((nowMs - row.at) / 1000)],
        ["Took", "n", (row) => ms(row.ms)],
        ["Request", "name long", (row) => `${row.verb} ${row.path}`],
        ["Where the time went", "", (row) => stagesBar(row.stages, row.ms)],
        ["Most in", "dim", (row) => `${longest(row.stages)[0]} ${ms(longest(row.stages)[1])}`],
        ["Code", "n", (row) => String(row.code)],
        ["User", "long wider", (row) => row.user || "(none)"],
        ["Thread", "dim wider", (row) => row.thread],
      ],
      rows,
      "no request took a quarter of a second or longer",
    ),
    el("div", { class: "legend" }, ...legend.map((stage) => el("span", {}, el("i", { class: colorOf(stage) }), stage))),
  );
}

function draw() {
  const now = samples.at(-1);
  const before = samples.at(-2) ?? now;
  const recent = samples.at(-4) ?? samples[0];
  const minute = samples.at(-30) ?? samples[0];
  drawHeadline(findingsOf(samples.length > 1 ? recent : now, now));
  drawTiles(before, now);
  drawThreads(before, now);
  drawClients(now);
  drawStore(minute, now);
  drawCodes(before, now);
  drawSlow(now);
  put(
    "watchers",
    table(
      [
        ["User", "name long", ({ user }) => user || "(none)"],
        ["Resource", "long", ({ resource }) => resource],
        ["State", "dim", ({ state }) => state],
        ["Behind", "n", ({ behind }) => count(behind)],
        ["Takes nothing for", "n", ({ blockedMs }) => (blockedMs > 0 ? ms(blockedMs) : "–")],
      ],
      now.slowWatchers.slice(0, 12),
      "all watchers are in step",
    ),
  );
  put(
    "gone",
    table(
      [
        ["Why", "wrap", ({ reason }) => reason],
        ["Requests", "n", (row) => count(row.count)],
      ],
      now.gone,
      "no request was told that its version is too old",
    ),
  );
  at("flow-card").hidden = now.flow.length === 0;
  const former = new Map(before.flow.map((level) => [level.level, level]));
  const seconds = secondsBetween(before, now);
  const per = (row, of) => rate(Math.max(0, row[of] - (former.get(row.level)?.[of] ?? row[of])) / seconds);
  put(
    "flow",
    table(
      [
        ["Priority level", "name", ({ level }) => level],
        ["Seats", "", ({ seats, seatsUsed }) => bar(seats > 0 ? seatsUsed / seats : 0, `${seatsUsed} / ${seats}`)],
        ["Executing", "n", ({ executing }) => count(executing)],
        ["Waiting", "n", ({ waiting }) => count(waiting)],
        ["Dispatched/s", "n wider", (row) => per(row, "dispatched")],
        ["Refused/s", "n", (row) => per(row, "rejected")],
      ],
      now.flow,
      "",
    ),
  );
  drawLogs(before, now);
}

function drawLogs(before, now) {
  const former = new Map(before.logs.map((log) => [log.resource, log]));
  const seconds = secondsBetween(before, now);
  const per = (row, of) => Math.max(0, row[of] - (former.get(row.resource)?.[of] ?? row[of])) / seconds;
  put(
    "logs",
    table(
      [
        ["Resource", "name long", ({ resource }) => resource],
        ["Objects", "n", ({ objects }) => count(objects)],
        ["Writes/s", "n", (row) => rate(per(row, "writes"))],
        ["Live", "n", ({ liveBytes }) => bytesText(liveBytes)],
        ["Memory", "n", ({ bytes }) => bytesText(bytes)],
        ["Oldest event", "n", ({ oldestSeconds }) => duration(oldestSeconds)],
        ["Segments", "n wider", ({ segments }) => count(segments)],
        ["Watch bytes/s", "n wider", (row) => bytesText(per(row, "watchBytes"))],
        ["Watchers behind", "n wider", ({ behind }) => count(behind)],
        ["410", "n wider", ({ expired }) => count(expired)],
      ],
      now.logs,
      "nothing was written yet",
    ),
  );
}

function fillThreads({ threads }) {
  const select = at("profile-thread");
  const names = threads.map(({ name }) => name).filter((name) => name !== "pool");
  if (select.options.length === names.length) return;
  select.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
}

async function look() {
  try {
    const answer = await fetch("console/data", { headers: { accept: "application/json" }, cache: "no-store" });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    samples.push(await answer.json());
    if (samples.length > samplesMax) samples.shift();
    at("state").className = "";
    at("state").textContent = `${new Date(samples.at(-1).at).toLocaleTimeString("en-GB")}`;
    fillThreads(samples.at(-1));
    draw();
  } catch (error) {
    at("state").className = "lost";
    at("state").textContent = `no figures: ${error.message}`;
  }
  // What is not looked at asks for nothing.
  if (document.hidden) document.addEventListener("visibilitychange", () => look(), { once: true });
  else setTimeout(look, samples.length === 1 ? 1000 : periodMs);
}

at("profile-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  const thread = at("profile-thread").value;
  const seconds = Number(at("profile-seconds").value);
  button.disabled = true;
  at("profile-note").textContent = `${thread} is watched for ${seconds} s…`;
  try {
    const answer = await fetch(`console/profile?thread=${encodeURIComponent(thread)}&seconds=${seconds}`);
    const text = await answer.text();
    if (!answer.ok) throw new Error(text.slice(0, 200));
    drawFlame(at("flame"), JSON.parse(text), el);
    at("profile-note").textContent = "";
  } catch (error) {
    at("profile-note").textContent = error.message;
  }
  button.disabled = false;
});

look();
