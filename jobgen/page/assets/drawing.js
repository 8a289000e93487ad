// Draws a job: nodes, their ranks on their GPUs, the head, and the network between them.
const SVG = "http://www.w3.org/2000/svg";
const GAP = 16;
const CELL = 44; // of a rank, and its height below
const CELL_HEIGHT = 36;
const MOST_RANKS = 16;
const MOST_IN_ROW = 8;
const LEAST_WIDTH = 150; // of a node: its title
const LETTER = 7; // pixels, about

// For the page before a cluster is chosen.
export const EXAMPLE = {
  nodes: 2, spares: 0, ranks_per_node: 4, gpus_per_node: 4, numbers_ranks: true,
  interface: "", port: "",
};

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

function rank(x, y, number, drawing, node) {
  const group = element("g", {});
  const name = drawing.numbers_ranks ? String(node * drawing.ranks_per_node + number) : "";
  group.append(element("rect", { x, y, width: CELL - 4, height: CELL_HEIGHT - 4, rx: 3, class: "rank" }));
  const middle = x + (CELL - 4) / 2;
  const put = (dy, text, kind) =>
    group.append(element("text", { x: middle, y: y + dy, "text-anchor": "middle", class: kind }, text));
  const device = deviceOf(number, drawing);
  if (name) put(14, name, "strong");
  put(name ? 27 : 20, device, "small");
  return group;
}

// How wide and high a node is, with as many ranks in a row as fit, and how many fit side by side.
function shapeOf(drawing, width) {
  const ranks = Math.min(drawing.ranks_per_node, MOST_RANKS);
  const fits = (count) => count <= MOST_IN_ROW && 20 + count * CELL <= width - 2 * GAP;
  const inRow = [ranks, Math.ceil(ranks / 2)].find(fits) ?? 4;
  const nodeWidth = Math.max(LEAST_WIDTH, 20 + inRow * CELL);
  const more = drawing.ranks_per_node > ranks ? 18 : 0;
  return {
    ranks, inRow, width: nodeWidth, height: 32 + Math.ceil(ranks / inRow) * CELL_HEIGHT + more,
    columns: Math.max(1, Math.floor((width - GAP) / (nodeWidth + GAP))),
  };
}

function nodeBox(x, y, shape, number, drawing) {
  const group = element("g", {});
  const isHead = number === 0 && drawing.nodes > 1;
  const kind = isHead ? "node head" : "node";
  const { width, height, ranks, inRow } = shape;
  group.append(element("rect", { x, y, width, height, rx: 6, class: kind }));
  const title = isHead ? "node 0, the head" : `node ${number}`;
  group.append(element("text", { x: x + 12, y: y + 18, class: "strong" }, title));
  for (let each = 0; each < ranks; each++) {
    const [column, row] = [each % inRow, Math.floor(each / inRow)];
    group.append(rank(x + 12 + column * CELL, y + 26 + row * CELL_HEIGHT, each, drawing, number));
  }
  if (ranks < drawing.ranks_per_node) {
    const text = `and ${drawing.ranks_per_node - ranks} more`;
    group.append(element("text", { x: x + 12, y: y + height - 8, class: "small" }, text));
  }
  return group;
}

// The numbers of the nodes that are drawn, in two rows or so; null stands for those between.
function drawnNodes(count, columns) {
  const most = Math.max(3, 2 * columns);
  const all = [...Array(Math.min(count, most)).keys()];
  return count <= most ? all : [...all.slice(0, most - 2), null, count - 1];
}

// Alone in its row, it need not be as high as a node.
function otherBox(x, y, { width, height: most, columns }, title, kind) {
  const height = columns === 1 ? 34 : most;
  const group = element("g", {});
  group.append(element("rect", { x, y, width, height, rx: 6, class: `node ${kind}` }));
  const text = { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle" };
  group.append(element("text", text, title));
  return group;
}

function boxes(drawing, shape) {
  const numbers = drawnNodes(drawing.nodes, shape.columns);
  const between = drawing.nodes - numbers.length + 1;
  const made = numbers.map((number) => (x, y) =>
    number === null
      ? otherBox(x, y, shape, `… ${between} more nodes …`, "")
      : nodeBox(x, y, shape, number, drawing));
  if (drawing.spares) {
    const title = `${drawing.spares} spare${drawing.spares > 1 ? "s" : ""}`;
    made.push((x, y) => otherBox(x, y, shape, title, "spare"));
  }
  return made;
}

// The interface and the port, below the wire: side by side if they fit.
function labels(drawing, y, width) {
  const most = Math.floor((width - 24) / LETTER);
  const shortened = (text) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const text = shortened(`interface: ${drawing.interface || "found by the script"}`);
  const port = `port: ${drawing.port}`;
  const isBeside = (text.length + port.length + 4) * LETTER < width - 24;
  const at = isBeside ? { x: 14 + (text.length + 4) * LETTER, y } : { x: 14, y: y + 18 };
  return { made: [element("text", { x: 14, y }, text), element("text", at, port)], bottom: at.y };
}

// An SVG for a width in pixels: rows of nodes, each row on the same wire.
export function draw(drawing, width) {
  const shape = shapeOf(drawing, width);
  const hasWire = drawing.nodes > 1;
  const picture = element("svg", {
    role: "img", "aria-describedby": "drawing-text", "aria-label": "Drawing of the job",
  });
  let [y, end] = [2, 0]; // of a row, and where the wire ends
  boxes(drawing, shape).forEach((box, index) => {
    const column = index % shape.columns;
    if (index && !column) y = end + 12;
    const x = 1.5 * GAP + column * (shape.width + GAP);
    const made = box(x, y);
    picture.append(made);
    const bottom = y + Number(made.firstChild.getAttribute("height"));
    end = Math.max(end, bottom + 10);
    const path = `M${x + shape.width / 2} ${bottom}V${end}H6`;
    if (hasWire) picture.append(element("path", { d: path, class: "wire" }));
  });
  const start = shape.height + 12;
  if (hasWire && drawing.port) {
    const { made, bottom } = labels(drawing, end + 20, width);
    picture.append(...made);
    end = bottom;
  }
  if (hasWire) picture.append(element("path", { d: `M6 ${start}V${end}`, class: "wire" }));
  const size = { width, height: end + 6 };
  for (const [key, value] of Object.entries(size)) picture.setAttribute(key, value);
  picture.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  return picture;
}
