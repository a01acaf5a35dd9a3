// Numbers and states as words.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const number = (value) => whole.format(value);

export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return "–";
  return `${perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : number(perSecond)}/s`;
}

export function milliseconds(ms) {
  if (ms < 1_000) return `${number(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return length(ms);
}

/** A length of time as people say it: 42 s, 3 min 5 s, 2 h 10 min. */
export function length(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

export const tuples = (count) => `${number(count)} ${count === 1 ? "tuple" : "tuples"}`;

export function cost(found) {
  if (!found) return "stops the output: no standby could take over";
  const lost = found.lostTuples ? `loses ${tuples(found.lostTuples)}` : "loses nothing";
  return `replays ${tuples(found.replayTuples)}, about ${found.replaySeconds.toFixed(1)} s; ${lost}`;
}

export function lag(edge) {
  if (edge.lagTuples === null) return "not known";
  if (!edge.lagTuples) return "none";
  return edge.lagMs === null ? tuples(edge.lagTuples) : `${tuples(edge.lagTuples)}, ${milliseconds(edge.lagMs)}`;
}

export const SAFETY = {
  starting: "STARTING",
  safe: "SAFE",
  atRisk: "AT RISK",
  down: "DOWN",
  over: "OVER",
  kept: "PROMISES KEPT",
  broken: "NOT KEPT",
};

/** With a capital and a full stop; a name of the job at the beginning stays as it is. */
export function sentence(text, view = { nodes: [] }) {
  if (!text) return "";
  const first = text.split(/[\s:,;]/, 1)[0];
  const named = view.nodes.some((node) => node.name === first || node.processes.some((process) => process.name === first));
  return (named ? text : text[0].toUpperCase() + text.slice(1)) + (/[.!?]$/.test(text) ? "" : ".");
}

/** "passiveStandby" → "passive standby". */
export const spaced = (name) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
