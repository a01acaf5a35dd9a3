// Incidents: what failed, step by step, beside the tuples per second at the sinks.

import { bars, steps } from "./charts.js";
import { h } from "./dom.js";
import { length, milliseconds, number, sentence, spaced, tuples } from "./words.js";

const COLUMN = 400; // as in the style sheet
const GAP = 36;
const INSET = 42;

/** `wide`: the width of the page in pixels. */
export function incidents(view, wide) {
  return h(
    "section",
    { class: "incidents", "aria-labelledby": "incidents-title" },
    h("h2", { id: "incidents-title" }, "Incidents", h("span", { class: "count" }, String(view.incidents.length))),
    view.incidents.length
      ? view.incidents.map((each) => incident(each, view, wide))
      : h("p", { class: "card none" }, "No failure so far."),
  );
}

function incident(found, view, wide) {
  const inner = wide - INSET;
  const column = inner >= 2 * COLUMN + GAP ? (inner - GAP) / 2 : inner;
  const at = view.startedMs === null ? "" : `${length(found.atMs - view.startedMs)} into the run`;
  return h(
    "article",
    { class: "card incident", "data-key": `${found.atMs} ${found.victim}` },
    h(
      "header",
      {},
      h("h3", {}, found.subjob, h("span", { class: "moved" }, found.victim, found.successor ? ` → ${found.successor}` : "")),
      h("p", { class: "soft" }, sentence(found.cause), " ", at, at ? ` · ${spaced(found.mode)}` : spaced(found.mode)),
    ),
    figures(found),
    h(
      "div",
      { class: "pair" },
      h(
        "figure",
        {},
        h("figcaption", {}, "Steps since the fault"),
        found.steps.length ? steps(found.steps, { wide: column, name: "the steps of the take-over" }) : h("p", { class: "soft" }, "Nobody has noticed it yet."),
      ),
      found.sinks.map((series) =>
        h(
          "figure",
          {},
          h("figcaption", {}, "Tuples per second at ", h("b", {}, series.sink)),
          bars(series, { marks: [{ at: found.atMs, name: "fault" }], zero: found.atMs, high: 160, wide: column }),
        ),
      ),
    ),
  );
}

function figures(found) {
  return h(
    "dl",
    { class: "figures" },
    output(found),
    figure("replayed", tuples(found.replayed)),
    figure("lost", number(found.lost), found.lost ? "bad" : "good"),
    found.duplicated === null ? null : figure("duplicated", number(found.duplicated), found.duplicated ? "bad" : "good"),
  );
}

/** What the failure did to the output. Of a sink that stalled, only its chart says it. */
function output(found) {
  if (found.role === "sink") return null;
  if (found.role !== "primary") return figure("output", "did not stop", "good");
  return found.recoveryMs === null ? figure("output", "has not come back", "bad") : figure("no output for", milliseconds(found.recoveryMs));
}

const figure = (name, value, tone = "") => h("div", {}, h("dt", {}, name), h("dd", { class: tone }, value));
