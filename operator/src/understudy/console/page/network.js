// The job as its network: a column of nodes for each layer, and edges drawn behind them.

import { h } from "./dom.js";
import { cost, lag, number, rate, spaced } from "./words.js";

export function network(view) {
  const layers = [];
  for (const node of view.nodes) (layers[node.layer] ??= []).push(node);
  view.edges.forEach((edge, place) => {
    for (const way of edge.ways) (layers[way.layer] ??= []).push({ ...way, kind: "way", id: `${place} ${way.layer}` });
  });
  return h(
    "section",
    { class: "network", "aria-labelledby": "network-title" },
    h("h2", { id: "network-title" }, "Network"),
    h(
      "div",
      { class: "scroll" },
      h(
        "div",
        { class: "layers", "data-key": "layers" },
        h("svg", { class: "edges", "aria-hidden": "true", "data-key": "edges" }),
        layers.filter(Boolean).map((nodes) =>
          h(
            "div",
            { class: `layer ${nodes.some((n) => n.kind === "subjob") ? "" : "ends"}` },
            nodes.sort((a, b) => a.row - b.row).map((node) => (node.kind === "way" ? h("span", { class: "way", "data-way": node.id, "data-key": node.id }) : card(node, view))),
          ),
        ),
      ),
    ),
  );
}

function card(node, view) {
  const state = view.endedMs === null ? (node.verdict?.safety ?? "none") : "over";
  return h(
    "button",
    { class: `node ${node.kind} is-${state}`, type: "button", "data-node": node.id, "data-key": node.id },
    h(
      "span",
      { class: "title" },
      h("span", { class: "name" }, node.name),
      h("span", { class: "kind" }, node.kind),
    ),
    node.keeping ? keeping(node.keeping) : h("span", { class: "what" }, node.what),
    node.processes.filter((p) => p.part !== "gone").map(process),
    node.keeping && view.endedMs === null && view.startedMs !== null && state !== "down"
      ? h("span", { class: "cost" }, h("b", {}, "A failure now "), cost(node.keeping.cost))
      : null,
  );
}

const keeping = (found) =>
  h(
    "span",
    { class: "chips" },
    h("span", { class: "chip" }, spaced(found.mode)),
    h("span", { class: `chip guarantee-${found.guarantee}` }, found.guarantee),
  );

function process(found) {
  const shown = found.serves ? (found.part === "standby" ? "standby" : "serves") : "waits";
  return h(
    "span",
    { class: `process ${found.part}` },
    h("span", { class: `dot ${shown}`, "aria-hidden": "true" }),
    h("span", { class: "who" }, found.name),
    h("span", { class: "part" }, found.part === "sink" ? found.state : `${found.part}, ${found.state}`),
  );
}

// --- edges: drawn when the nodes have their places

const LABEL = { letter: 7.6, inset: 12, high: 34 };

/** Draws the edges from where the nodes are. */
export function edges(root, view) {
  const layers = root.querySelector(".layers");
  const svg = root.querySelector(".edges");
  if (!layers || !svg) return;
  const origin = layers.getBoundingClientRect();
  svg.setAttribute("width", layers.scrollWidth);
  svg.setAttribute("height", layers.scrollHeight);
  const box = new Map(
    [...layers.querySelectorAll("[data-node], [data-way]")].map((node) => {
      const at = node.getBoundingClientRect();
      return [node.dataset.node ?? node.dataset.way, { x: at.left - origin.left, y: at.top - origin.top, w: at.width, h: at.height }];
    }),
  );
  const upright = getComputedStyle(layers).flexDirection === "column";
  const drawn = view.edges.map((edge, place) =>
    one(edge, box.get(edge.source), box.get(edge.target), edge.ways.map((way) => box.get(`${place} ${way.layer}`)), upright, share(edge, view, box, upright), view.endedMs !== null),
  );
  svg.replaceChildren(...drawn.filter(Boolean).map((d) => d.line), ...drawn.filter(Boolean).map((d) => d.label));
}

/** The place of an edge among those that leave the same node and those that enter the same node, from 0 to 1:
    in the order of their other ends, so that they do not cross. */
function share(edge, view, box, upright) {
  const across = (id) => (box.has(id) ? (upright ? box.get(id).x : box.get(id).y) : 0);
  const place = (side) => {
    const far = side === "source" ? "target" : "source";
    const mates = view.edges.filter((other) => other[side] === edge[side]).sort((a, b) => across(a[far]) - across(b[far]));
    return (mates.indexOf(edge) + 1) / (mates.length + 1);
  };
  return { out: place("source"), in: place("target") };
}

function one(edge, from, to, ways, upright, at, ended) {
  if (!from || !to) return null;
  const a = upright
    ? { x: from.x + from.w * at.out, y: from.y + from.h }
    : { x: from.x + from.w, y: from.y + from.h * at.out };
  const b = upright ? { x: to.x + to.w * at.in, y: to.y } : { x: to.x, y: to.y + to.h * at.in };
  const stops = [a, ...ways.flatMap((way) => through(way, upright)), b];
  const behind = ended ? "" : edge.full ? "full" : edge.lagMs !== null && edge.lagMs > 2_000 ? "late" : "";
  const line = h("path", {
    class: `edge ${behind} ${edge.rate ? "flows" : ""}`,
    d: `M${a.x} ${a.y} ${stops.slice(1).map((stop, place) => curve(stops[place], stop, upright)).join(" ")}`,
  });
  return { line, label: label(edge, { x: (a.x + stops[1].x) / 2, y: (a.y + stops[1].y) / 2 }, behind, ended) };
}

/** Where an edge enters a way and leaves it. */
function through(way, upright) {
  if (upright) return [{ x: way.x + way.w / 2, y: way.y }, { x: way.x + way.w / 2, y: way.y + way.h }];
  return [{ x: way.x, y: way.y + way.h / 2 }, { x: way.x + way.w, y: way.y + way.h / 2 }];
}

function curve(a, b, upright) {
  const bend = (upright ? b.y - a.y : b.x - a.x) / 2;
  const [c, d] = upright
    ? [{ x: a.x, y: a.y + bend }, { x: b.x, y: b.y - bend }]
    : [{ x: a.x + bend, y: a.y }, { x: b.x - bend, y: b.y }];
  return `C${c.x} ${c.y} ${d.x} ${d.y} ${b.x} ${b.y}`;
}

/** The rate, and by how much the reader is behind; of a run that is over, how many tuples came. */
function label(edge, at, behind, ended) {
  const late = ended ? (edge.tuples ? `${number(edge.tuples)} in all` : null) : edge.full ? "queue full" : edge.lagTuples ? `${number(edge.lagTuples)} behind` : null;
  const high = late ? LABEL.high : LABEL.high / 2 + 2;
  const wide = Math.max(rate(edge.rate).length, late?.length ?? 0) * LABEL.letter + LABEL.inset;
  return h(
    "g",
    { class: `label ${behind}` },
    h("title", {}, `lag: ${lag(edge)}`),
    h("rect", { x: at.x - wide / 2, y: at.y - high / 2, width: wide, height: high, rx: 6 }),
    h("text", { x: at.x, y: at.y + (late ? -2 : 4.5) }, rate(edge.rate)),
    late ? h("text", { class: "late", x: at.x, y: at.y + 12 }, late) : null,
  );
}
