// Tuples per second as bars; the steps of an incident as a staircase.

import { h } from "./dom.js";
import { milliseconds, number } from "./words.js";

const LEFT = 46;
const RIGHT = 10;
const LEAST = 4; // tuples per second that fill the chart
const STEPS = ["detected", "promoted", "state restored", "first output", "caught up", "protected again"];

/** `wide`, `high`: in pixels. `marks`: [{ at, name }], in the time of the series; `zero`: the time that the axis counts from. */
export function bars(series, { wide = 640, high = 150, marks = [], zero = series.beginMs, name = "tuples per second" } = {}) {
  const [top, bottom] = [18, high - 20];
  const perSecond = series.counts.map((count) => (count * 1_000) / series.widthMs);
  const most = ceiling(Math.max(...perSecond, LEAST));
  const length = series.counts.length * series.widthMs;
  const x = (ms) => LEFT + ((ms - series.beginMs) / length) * (wide - LEFT - RIGHT);
  const y = (value) => bottom - (value / most) * (bottom - top);
  const each = (wide - LEFT - RIGHT) / series.counts.length;
  const bar = (value, place) =>
    value
      ? h("rect", {
          class: "bar",
          x: (LEFT + place * each + each * 0.08).toFixed(1),
          y: y(value).toFixed(1),
          width: Math.max(each * 0.84, 0.8).toFixed(1),
          height: (bottom - y(value)).toFixed(1),
          rx: Math.min(1.5, each / 4).toFixed(1),
        })
      : null;
  return h(
    "svg",
    { class: "chart", viewBox: `0 0 ${wide} ${high}`, role: "img" },
    h("title", {}, name),
    [0.5, 1].map((part) => h("line", { class: "rule", x1: LEFT, x2: wide - RIGHT, y1: y(most * part), y2: y(most * part) })),
    [0, 0.5, 1].map((part) => h("text", { class: "tick end", x: LEFT - 8, y: y(most * part) + 4 }, number(most * part))),
    perSecond.map(bar),
    perSecond.some(Boolean) ? null : h("text", { class: "tick middle", x: wide / 2, y: (top + bottom) / 2 + 4 }, "no tuples in this time"),
    h("line", { class: "axis", x1: LEFT, x2: wide - RIGHT, y1: bottom, y2: bottom }),
    ticks(series.beginMs - zero, length, wide).map((ms) =>
      h("text", { class: "tick middle", x: x(zero + ms), y: high - 4 }, `${ms / 1_000} s`),
    ),
    marks.map((mark) => [
      h("line", { class: "fault", x1: x(mark.at), x2: x(mark.at), y1: top - 6, y2: bottom }),
      h("text", { class: "fault", x: x(mark.at) + 5, y: top - 4 }, mark.name),
    ]),
  );
}

/** Round times on the axis, at most one in 80 pixels. */
function ticks(from, length, wide) {
  const steps = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000];
  const step = steps.find((each) => length / each <= wide / 80) ?? 86_400_000;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at < from + length - step / 4; at += step) found.push(at);
  return found;
}

function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 6, 8, 10].map((n) => n * power).find((n) => n >= value);
}

/** A bar for each step, from the end of the step before it to its own end. A long last step is cut. */
export function steps(found, { wide = 640, name }) {
  const row = 26;
  const left = 118;
  const right = 64;
  const high = found.length * row + 4;
  const usual = found.filter((step) => step.name !== "protected again").map((step) => step.afterMs);
  const longest = Math.max(...usual, 1) * 1.15;
  const x = (ms) => left + (Math.min(ms, longest) / longest) * (wide - left - right);
  return h(
    "svg",
    { class: "chart steps", viewBox: `0 0 ${wide} ${high}`, role: "img" },
    h("title", {}, name),
    h("line", { class: "fault", x1: left, x2: left, y1: 0, y2: high }),
    found.map((step, place) => {
      const [from, to] = [x(place ? found[place - 1].afterMs : 0), x(step.afterMs)];
      const y = place * row + 4;
      return [
        h("text", { class: "step end", x: left - 12, y: y + 13 }, step.name),
        h("rect", { class: `bar step-${STEPS.indexOf(step.name)}`, x: from, y, width: Math.max(to - from, 3), height: 17, rx: 4 }),
        h("text", { class: "tick", x: Math.max(to, from + 3) + 8, y: y + 13 }, milliseconds(step.afterMs)),
      ];
    }),
  );
}
