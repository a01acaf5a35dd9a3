// Draws each view that the server sends.

import { bars } from "./charts.js";
import { details } from "./details.js";
import { h, morph } from "./dom.js";
import { incidents } from "./incidents.js";
import { edges, network } from "./network.js";
import { SAFETY, length, number, sentence } from "./words.js";

const UNDERSTOOD = "1";
const root = document.getElementById("console");
const dialog = document.getElementById("details");

const LEAST = 280;
const [COLUMN, GAP, INSET] = [460, 16, 42]; // of charts at the sinks, as in the style sheet

let view = null;
let connected = true;
let shown = null; // the id of the node in the sheet

function page() {
  return h(
    "main",
    { id: "console" },
    top(),
    h(
      "section",
      { class: `verdict is-${view.verdict.safety}`, role: "status" },
      h("strong", {}, SAFETY[view.verdict.safety] ?? view.verdict.safety),
      h("p", {}, sentence(view.verdict.why, view)),
    ),
    network(view),
    sinks(),
    incidents(view, wide()),
  );
}

/** The width that the page has for what it shows. */
function wide() {
  const style = getComputedStyle(root);
  return Math.max(LEAST, root.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
}

function top() {
  return h(
    "header",
    { class: "top" },
    h("div", {}, h("p", { class: "brand" }, "understudy"), h("h1", {}, view.job)),
    h("p", { class: "meta" }, view.place, h("span", { class: `live ${live().tone}` }, live().words)),
  );
}

function live() {
  if (view.endedMs !== null) {
    return { tone: "ended", words: view.startedMs === null ? "ended" : `ran for ${length(view.endedMs - view.startedMs)}` };
  }
  if (!connected) return { tone: "lost", words: "connection lost" };
  return { tone: "on", words: view.startedMs === null ? "starting" : `running for ${length(view.nowMs - view.startedMs)}` };
}

function sinks() {
  if (!view.sinks.length) return null;
  const columns = Math.max(1, Math.min(view.sinks.length, Math.floor((wide() + GAP) / (COLUMN + GAP))));
  const column = (wide() - (columns - 1) * GAP) / columns - INSET;
  const marks = (series) =>
    view.incidents
      .filter((each) => each.sinks.some((behind) => behind.sink === series.sink))
      .map((each) => ({ at: each.atMs, name: each.victim }));
  return h(
    "section",
    { class: "sinks", "aria-labelledby": "sinks-title" },
    h("h2", { id: "sinks-title" }, "At the sinks"),
    h(
      "div",
      { class: "grid" },
      view.sinks.map((series) =>
        h(
          "figure",
          { class: "card", "data-key": series.sink },
          h(
            "figcaption",
            {},
            h("b", {}, series.sink),
            h("span", { class: "soft" }, ` tuples per second; ${number(series.counts.reduce((a, b) => a + b, 0))} in all`),
          ),
          bars(series, { marks: marks(series), wide: column }),
        ),
      ),
    ),
  );
}

function draw() {
  if (!view) return;
  document.title = `${SAFETY[view.verdict.safety]} · ${view.job} · understudy`;
  morph(root, page());
  edges(root, view);
  if (shown) sheet();
}

function sheet() {
  const node = view.nodes.find((each) => each.id === shown);
  if (!node) return dialog.close();
  const fresh = details(node, view);
  if (dialog.firstElementChild) morph(dialog.firstElementChild, fresh);
  else dialog.append(fresh);
  if (!dialog.open) dialog.showModal();
}

// --- what people do: a click, or Enter on a node with the focus

document.addEventListener("click", (event) => {
  const node = event.target.closest("[data-node]");
  if (node) {
    shown = node.dataset.node;
    sheet();
  } else if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
});

dialog.addEventListener("close", () => {
  const left = shown;
  shown = null;
  dialog.replaceChildren();
  root.querySelector(`[data-node="${CSS.escape(left ?? "")}"]`)?.focus();
});

new ResizeObserver(draw).observe(document.body);

// --- what the server sends

const events = new EventSource("events");
events.addEventListener("message", (event) => {
  const found = JSON.parse(event.data);
  connected = true;
  if (String(found.version).split(".")[0] !== UNDERSTOOD) {
    root.replaceChildren(h("p", { class: "loading" }, "The console was updated: load this page again."));
    return events.close();
  }
  view = found;
  draw();
});
events.addEventListener("error", () => {
  connected = false;
  draw();
});
