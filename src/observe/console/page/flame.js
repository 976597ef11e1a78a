// A flame graph of a CPU profile: each function below the one that called it, as wide as the time spent in it. A click
// shows one function and what it calls, over the whole width.
const rowHeight = 18;
const levelsMax = 60;
const partMin = 0.001;

/** Draws `tree` (name, place, time, children) into an element. */
export function drawFlame(into, tree, el) {
  const show = (top) => into.replaceChildren(...picture(top, tree, show, el));
  show(tree);
}

function picture(top, tree, show, el) {
  const rects = [];
  let depth = 0;
  const place = (node, x, level) => {
    const width = (1000 * node.ms) / Math.max(top.ms, 1e-9);
    if (width < 1000 * partMin || level >= levelsMax) return;
    depth = Math.max(depth, level + 1);
    rects.push({ node, x, width, level });
    let left = x;
    for (const child of node.children) {
      place(child, left, level + 1);
      left += (1000 * child.ms) / Math.max(top.ms, 1e-9);
    }
  };
  place(top, 0, 0);
  const height = depth * rowHeight;
  const svg = el("svg", {
    viewBox: `0 0 1000 ${height}`,
    height,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": "Flame graph",
  });
  for (const { node, x, width, level } of rects) {
    const about = `${node.name} ${node.place}\n${node.ms.toFixed(0)} ms, ${((100 * node.ms) / tree.ms).toFixed(1)} % of all`;
    const rect = el(
      "rect",
      { x, y: level * rowHeight, width, height: rowHeight - 1, fill: colorOf(node) },
      el("title", {}, about),
    );
    rect.addEventListener("click", () => show(node === top ? tree : node));
    svg.append(rect);
  }
  const labels = el("div", { class: "labels" });
  const text = el(
    "p",
    { class: "dim" },
    top === tree
      ? `${tree.ms.toFixed(0)} ms on the CPU; a click shows one function alone`
      : `${top.name}: ${top.ms.toFixed(0)} ms; a click on it shows all again`,
  );
  // Texts are not stretched with the picture.
  const texts = rects
    .filter(({ width }) => width > 35)
    .map(({ node, x, width, level }) => {
      const label = el("span", { title: node.name }, node.name);
      label.style.cssText = `position:absolute;pointer-events:none;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;font-size:11px;line-height:${rowHeight - 1}px;color:#10151d;padding:0 4px;left:${x / 10}%;width:${width / 10}%;top:${level * rowHeight}px`;
      return label;
    });
  labels.style.cssText = "position:relative";
  labels.append(svg, ...texts);
  return [text, labels];
}

/** The program's own code is warm, the runtime's cool, waiting and collecting garbage grey and red. */
function colorOf({ name, place }) {
  if (name === "(garbage collector)") return "#e08a86";
  if (name.startsWith("(")) return "#b9c1cd";
  let hash = 0;
  for (const char of name) hash = (hash * 31 + char.charCodeAt(0)) | 0;
  const shift = Math.abs(hash) % 30;
  return place.startsWith("node:") || place === "" ? `hsl(${195 + shift} 55% 70%)` : `hsl(${25 + shift} 85% 68%)`;
}
