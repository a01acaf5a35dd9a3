// What is known of one node, in a sheet at the side.

import { h } from "./dom.js";
import { cost, lag, rate, sentence, spaced, tuples } from "./words.js";

export function details(node, view) {
  const named = new Map(view.nodes.map((each) => [each.id, each.name]));
  const into = view.edges.filter((edge) => edge.target === node.id);
  const out = view.edges.filter((edge) => edge.source === node.id);
  return h(
    "div",
    { class: "sheet" },
    h(
      "header",
      {},
      h("p", { class: "kind" }, node.kind),
      h("h2", {}, node.name),
      h("button", { class: "close", type: "button", "data-close": true, "aria-label": "Close" }, "Close"),
    ),
    node.verdict && view.endedMs === null
      ? h("p", { class: `said is-${node.verdict.safety}` }, sentence(node.verdict.why, view))
      : null,
    h("dl", { class: "facts" }, fact(node.kind === "subjob" ? "operators" : "what", node.what), node.keeping ? keeping(node, view) : null),
    node.processes.length ? processes(node.processes) : null,
    streams("Reads", into, (edge) => named.get(edge.source), view),
    streams("Read by", out, (edge) => named.get(edge.target), view),
  );
}

const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];

function keeping(node, view) {
  const found = node.keeping;
  return [
    fact("mode", spaced(found.mode)),
    fact("guarantee", found.guarantee),
    fact("why", sentence(found.why)),
    fact("operator class", found.operatorClass),
    view.endedMs === null && view.startedMs !== null && node.verdict.safety !== "down" ? fact("a failure now", sentence(cost(found.cost))) : null,
  ];
}

function processes(found) {
  return h(
    "div",
    {},
    h("h3", {}, "Processes"),
    h(
      "ul",
      { class: "list" },
      found.map((each) =>
        h(
          "li",
          { class: each.part === "gone" ? "gone" : "" },
          h("b", {}, each.name),
          h("span", {}, [each.part, each.part === "gone" ? null : each.state, each.epoch ? `epoch ${each.epoch}` : null].filter(Boolean).join(", ")),
          each.note ? h("p", { class: "note" }, sentence(each.note)) : null,
        ),
      ),
    ),
  );
}

function streams(title, edges, name, view) {
  if (!edges.length) return null;
  return h(
    "div",
    {},
    h("h3", {}, title),
    h(
      "ul",
      { class: "list" },
      edges.map((edge) =>
        h(
          "li",
          {},
          h("b", {}, name(edge)),
          h("span", {}, `${rate(edge.rate)}, ${edge.tuples === null ? "not known how many" : `${tuples(edge.tuples)} in all`}`),
          view.endedMs === null ? h("p", { class: "soft" }, `lag: ${lag(edge)}${edge.full ? "; the queue is full" : ""}`) : null,
        ),
      ),
    ),
  );
}

