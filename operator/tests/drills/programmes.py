"""Jobs that hold several modes at once, and what is done to them.

Starting a Spark driver takes longer than most drills, so one run holds many: every subjob is hurt, one after another.
Moments are drawn from a seed.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.model.classes import OperatorClass
from understudy.model.guarantees import PRECISE
from understudy.model.ha import Mode

SOURCES = """
  sources:
    - {name: odd, generator: {rate: 60, fields: {k: "_seq * 2 + 1", g: "_seq % 3"}}}
    - {name: even, generator: {rate: 40, fields: {k: "_seq * 2", g: "_seq % 2"}}}
"""
COUNT = '{aggregate: {window: {on: _seq, size: 6, slide: 3}, groupBy: [g], select: {n: "count(*)", k: "max(k)"}}}'


@dataclass(frozen=True)
class Programme:
    name: str
    spec: str
    seconds: int
    kills: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()

    @property
    def manifest(self) -> str:
        head = f"apiVersion: understudy.dev/v1alpha1\nkind: StreamJob\nmetadata: {{name: {self.name}}}\nspec:"
        return head + SOURCES + self.spec

    @property
    def options(self) -> list[str]:
        kills = [word for kill in self.kills for word in ("--kill", kill)]
        stops = [word for stop in self.stops for word in ("--stop", stop)]
        return ["--duration", f"{self.seconds}s", *kills, *stops]


# Every mode that needs a deterministic subjob or has one, in one chain: the sink is precise only if all are.
CHAIN = f"""
  subjobs:
    - {{name: act, inputs: [odd], operators: [{COUNT}], ha: {{mode: activeStandby, guarantee: precise}}}}
    - {{name: rep, inputs: [act], operators: [{{filter: {{where: "g < 2"}}}}], ha: {{mode: replicaBackup}}}}
    - {{name: ups, inputs: [rep], operators: [{COUNT}], ha: {{mode: upstreamBackup, guarantee: precise}}}}
    - {{name: sav, inputs: [ups], operators: [{{filter: {{where: "n > 0"}}}}], ha: {{mode: savepoint}}}}
  sinks: [{{name: end, input: sav, files: {{path: out/end}}}}]
"""

# What is left to chance, in the modes that can carry it; and several elements in each of their strategies.
CHANCE = f"""
  subjobs:
    - {{name: act, inputs: [odd, even], operators: [{{union: {{}}}}], ha: {{mode: activeStandby, guarantee: precise}}}}
    - {{name: pas, inputs: [odd, even], operators: [{{union: {{}}}}], ha: {{guarantee: precise}}}}
    - {{name: log, inputs: [odd, even], operators: [{{union: {{}}}}], ha: {{mode: upstreamBackup, guarantee: precise}}}}
    - name: swe
      inputs: [odd]
      operators: [{COUNT}, {COUNT}]
      ha: {{guarantee: precise, checkpoint: {{strategy: sweeping}}}}
    - name: ind
      inputs: [swe]
      operators: [{COUNT}, {COUNT}]
      ha: {{guarantee: precise, checkpoint: {{strategy: individual}}}}
  sinks:
    - {{name: acts, input: act, files: {{path: out/acts}}}}
    - {{name: pass, input: pas, files: {{path: out/pass}}}}
    - {{name: logs, input: log, files: {{path: out/logs}}}}
    - {{name: end, input: ind, files: {{path: out/end}}}}
"""

# Neighbours that fail at the same moment; beside them the mode that recovers with duplicates: elements that share a
# stream keep no log.
TOGETHER = f"""
  subjobs:
    - {{name: one, inputs: [odd], operators: [{COUNT}], ha: {{mode: savepoint}}}}
    - {{name: two, inputs: [one], operators: [{COUNT}], ha: {{mode: savepoint}}}}
    - {{name: all, inputs: [two], operators: [{{filter: {{where: "n > 0"}}}}], ha: {{mode: savepoint}}}}
    - name: rol
      inputs: [odd]
      merge: eventTime
      elements:
        - {{name: few, inputs: [odd], operators: [{{filter: {{where: "g = 0"}}}}]}}
        - {{name: both, inputs: [odd, few], operators: [{{union: {{}}}}]}}
      ha: {{mode: upstreamBackup}}
  sinks:
    - {{name: end, input: all, files: {{path: out/end}}}}
    - {{name: rols, input: rol, files: {{path: out/rols}}}}
"""

MARKED = '{python: {function: "marks:marked", deterministic: true}}'
MODULE = """
from pyspark.sql import functions as F

mark = F.udf(lambda k: k + 1, "bigint")


def marked(rows):
    return rows.where("k % 7 <> 0").withColumn("k", mark("k"))
"""
"""What is in `marks.py`, beside every manifest."""

FILTER = '{filter: {where: "k >= 0"}}'


def classes(mode: Mode) -> Programme:
    """Every class of operators that the mode takes, side by side, under every fault. The kill of a primary waits for
    the new standby."""
    subjobs = {"rep": f"inputs: [odd], operators: [{FILTER}]", "con": f"inputs: [odd], operators: [{COUNT}]"}
    two = f"{COUNT}, {COUNT}" if mode is not Mode.SAVEPOINT else f"{MARKED}, {COUNT}"  # which keeps one element
    subjobs["det"] = f"inputs: [odd], operators: [{two}]"
    if OperatorClass.ARBITRARY in PRECISE[mode]:
        subjobs["arb"] = "inputs: [odd, even], operators: [{union: {}}]"
    spec = "  subjobs:\n" + "".join(f"    - {{name: {n}, {s}, ha: {{mode: {mode}}}}}\n" for n, s in subjobs.items())
    spec += "  sinks:\n" + "".join(f"    - {{name: {n}s, input: {n}, files: {{path: out/{n}}}}}\n" for n in subjobs)
    kills = [kill for n in subjobs for kill in (f"{n}@standby@18s-20s", f"{n}@protected@30s")]
    stops = [stop for n in subjobs for stop in (f"{n}@4s-6s+150ms", f"{n}@9s-12s+3s")]
    return Programme(f"classes-{mode.lower()}", spec, 180, tuple(kills), tuple(stops))


IN_TURN = ("act@5s-8s", "rep@10s-13s", "ups@16s-19s", "sav@22s-25s")

# What continuous integration runs: each mode is hurt, and each fault happens.
QUICK = (
    Programme("primaries", CHAIN, 45, IN_TURN),
    Programme(
        "chance",
        CHANCE,
        45,
        ("act@5s-8s", "swe@10s-13s", "ind@standby@16s-18s", "log@30s-33s"),
        ("pas@20s-23s+3s", "ind@26s-28s+150ms"),
    ),
)
ALL = (
    *QUICK,
    Programme(
        "standbys",
        CHAIN,
        50,
        ("act@standby@5s-7s", "sav@standby@12s-14s"),
        ("rep@18s-20s+3s", "ups@24s-26s+3s", "act@primary@30s-32s+150ms", "sav@34s-36s+150ms"),
    ),
    # The second round waits for new standbys: before that, some modes promise nothing.
    Programme("again", CHAIN, 140, ("act@5s-8s", "rep@10s-13s", "act@protected@40s", "rep@protected@50s")),
    Programme("again-empty", CHAIN, 140, ("ups@5s-8s", "sav@10s-13s", "ups@protected@40s", "sav@protected@50s")),
    Programme(
        "chance-stops",
        CHANCE,
        50,
        ("pas@5s-7s", "act@standby@10s-12s", "log@standby@15s-17s", "ind@20s-22s"),
        ("swe@26s-28s+3s", "act@32s-34s+150ms", "log@36s-38s+3s"),
    ),
    # While somebody recovers: the new primary, where upstream can give again all that it keeps; elsewhere the
    # new standby on its way, and the primary once more when there is another.
    Programme(
        "catching-up",
        CHAIN,
        220,
        (
            *("act@5s-7s", "act@standby@8s-12s", "rep@14s-16s", "rep@standby@17s-21s"),
            *("ups@protected@30s", "ups@recovering@30s", "sav@protected@60s", "sav@recovering@60s"),
            *("act@protected@90s", "rep@protected@95s"),
        ),
    ),
    Programme("together", TOGETHER, 70, ("one@8s", "two@8s", "all@8s", "rol@16s-18s", "one@60s", "all@60s")),
    *(classes(mode) for mode in Mode if PRECISE.get(mode)),
)
