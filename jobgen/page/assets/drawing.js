// Draws a job: nodes, their ranks on their GPUs, the head, and the network between them.
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 196; // of a node, in pixels
const GAP = 16;
const CELL = 44;
const IN_ROW = 4;
const MOST_RANKS = 16;
const MOST_NODES = 6;
const MOST_LETTERS = 30; // beside the wire, where there is one column of nodes

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// What a rank runs on; which of the GPUs is its own is sure only if each has one.
function deviceOf(number, { gpus_per_node: gpus, ranks_per_node: ranks }) {
  if (!gpus) return "CPU";
  if (gpus === ranks) return `GPU ${number}`;
  return ranks === 1 ? `${gpus} GPUs` : "GPU";
}

function shortened(text) {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}

function rank(x, y, number, drawing, node) {
  const group = element("g", {});
  const name = drawing.numbers_ranks ? String(node * drawing.ranks_per_node + number) : "";
  group.append(element("rect", { x, y, width: CELL - 4, height: CELL - 4, rx: 3, class: "rank" }));
  const middle = x + (CELL - 4) / 2;
  const put = (dy, text, kind) =>
    group.append(element("text", { x: middle, y: y + dy, "text-anchor": "middle", class: kind }, text));
  const device = deviceOf(number, drawing);
  if (name) put(15, name, "strong");
  put(name ? 28 : 21, device, "small");
  return group;
}

function nodeBox(x, y, height, number, drawing) {
  const group = element("g", {});
  const isHead = number === 0 && drawing.nodes > 1;
  const kind = isHead ? "node head" : "node";
  group.append(element("rect", { x, y, width: WIDTH, height, rx: 6, class: kind }));
  const title = isHead ? "node 0, the head" : `node ${number}`;
  group.append(element("text", { x: x + 10, y: y + 20, class: "strong" }, title));
  const shown = Math.min(drawing.ranks_per_node, MOST_RANKS);
  for (let each = 0; each < shown; each++) {
    const column = each % IN_ROW;
    const row = Math.floor(each / IN_ROW);
    group.append(rank(x + 12 + column * CELL, y + 30 + row * CELL, each, drawing, number));
  }
  if (shown < drawing.ranks_per_node) {
    const text = `and ${drawing.ranks_per_node - shown} more`;
    group.append(element("text", { x: x + 12, y: y + height - 8, class: "small" }, text));
  }
  return group;
}

// The numbers of the nodes that are drawn; null stands for those between.
function drawnNodes(count) {
  const all = [...Array(Math.min(count, MOST_NODES)).keys()];
  return count <= MOST_NODES ? all : [...all.slice(0, MOST_NODES - 2), null, count - 1];
}

function otherBox(x, y, height, title, kind) {
  const group = element("g", {});
  group.append(element("rect", { x, y, width: WIDTH, height, rx: 6, class: `node ${kind}` }));
  const text = { x: x + WIDTH / 2, y: y + height / 2, "text-anchor": "middle" };
  group.append(element("text", text, title));
  return group;
}

function boxes(drawing) {
  const made = drawnNodes(drawing.nodes).map((number) => (x, y, height) =>
    number === null
      ? otherBox(x, y, height, `… ${drawing.nodes - MOST_NODES + 1} more nodes …`, "")
      : nodeBox(x, y, height, number, drawing));
  if (drawing.spares) {
    const title = `${drawing.spares} spare${drawing.spares > 1 ? "s" : ""}`;
    made.push((x, y, height) => otherBox(x, y, height, title, "spare"));
  }
  return made;
}

// An SVG for a width in pixels: rows of nodes, each row on the same wire.
export function draw(drawing, width) {
  const made = boxes(drawing);
  const columns = Math.max(1, Math.min(made.length, Math.floor((width - GAP) / (WIDTH + GAP))));
  const more = drawing.ranks_per_node > MOST_RANKS ? 18 : 0;
  const rows = Math.ceil(Math.min(drawing.ranks_per_node, MOST_RANKS) / IN_ROW);
  const height = 34 + rows * CELL + more;
  const hasWire = drawing.nodes > 1;
  const step = height + (hasWire ? 34 : GAP);
  const lines = Math.ceil(made.length / columns);
  const size = { width: GAP + columns * (WIDTH + GAP), height: lines * step + (hasWire ? 46 : 4) };
  const picture = element("svg", {
    viewBox: `0 0 ${size.width} ${size.height}`, width: size.width, height: size.height,
    role: "img", "aria-describedby": "drawing-text", "aria-label": "Drawing of the job",
  });
  made.forEach((box, index) => {
    const x = 2 * GAP + (index % columns) * (WIDTH + GAP) - GAP / 2;
    const y = 2 + Math.floor(index / columns) * step;
    picture.append(box(x, y, height));
    if (!hasWire) return;
    const wire = y + height + 14;
    picture.append(element("path", { d: `M${x + WIDTH / 2} ${y + height}V${wire}H6`, class: "wire" }));
  });
  if (hasWire) {
    const bottom = lines * step + 2;
    picture.append(element("path", { d: `M6 ${2 + height + 14}V${bottom + 6}`, class: "wire" }));
    const put = (dy, text) =>
      picture.append(element("text", { x: 14, y: bottom + dy }, text));
    put(10, shortened(`interface: ${drawing.interface || "found by the script"}`));
    put(28, `port: ${drawing.port}`);
  }
  return picture;
}
