"""Jobs that hold several modes at once, and what is done to them.

Starting a Spark driver takes longer than most drills, so one run holds many: every subjob is hurt, one after
another. Moments are drawn from a seed. A kill of a protected primary waits for its standby and for those of
its neighbours: where neighbours fail together, some modes promise less.
"""

from __future__ import annotations

from tests.drills.programme import COUNT, Programme
from tests.drills.side_by_side import PRIMARIES, STANDBYS, classes
from understudy.model.guarantees import PRECISE
from understudy.model.ha import Mode

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

# Neighbours that fail within a second, before any of them is back; beside them elements that share a stream,
# and what recovers with duplicates: no batch plan chooses what randn() gives, so there is no log.
TOGETHER = f"""
  subjobs:
    - {{name: one, inputs: [odd], operators: [{COUNT}], ha: {{mode: savepoint}}}}
    - {{name: two, inputs: [one], operators: [{COUNT}], ha: {{mode: savepoint}}}}
    - {{name: all, inputs: [two], operators: [{{filter: {{where: "n > 0"}}}}], ha: {{mode: savepoint}}}}
    - {{name: rol, inputs: [odd], operators: [{{map: {{select: {{z: "randn()"}}}}}}], ha: {{mode: upstreamBackup}}}}
    - name: sha
      inputs: [odd]
      merge: eventTime
      elements:
        - {{name: few, inputs: [odd], operators: [{{filter: {{where: "g = 0"}}}}]}}
        - {{name: both, inputs: [odd, few], operators: [{{union: {{}}}}]}}
      ha: {{mode: upstreamBackup, guarantee: precise}}
  sinks:
    - {{name: end, input: all, files: {{path: out/end}}}}
    - {{name: shas, input: sha, files: {{path: out/shas}}}}
    - {{name: rols, input: rol, files: {{path: out/rols}}}}
"""

# What continuous integration runs: every mode and every class of operators meets the faults that need no new
# instance.
QUICK = (
    PRIMARIES,
    STANDBYS,
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
        "chance-stops",
        CHANCE,
        50,
        ("pas@5s-7s", "act@standby@10s-12s", "log@standby@15s-17s", "ind@20s-22s"),
        ("swe@26s-28s+3s", "act@32s-34s+150ms", "log@36s-38s+3s"),
    ),
    # While somebody recovers, beside neighbours: the new primary, where upstream can give again all that it
    # keeps; elsewhere the new standby on its way, and the primary once more when there is another.
    Programme(
        "catching-up",
        CHAIN,
        220,
        (
            *("act@5s-7s", "act@joining@8s-12s", "rep@14s-16s", "rep@joining@17s-21s"),
            *(
                "ups@recovering@30s-31s",
                "ups@protected@31s-36s",
                "sav@recovering@60s-61s",
                "sav@protected@61s-66s",
            ),
            *("act@protected@85s-95s", "rep@protected@95s-105s"),
        ),
    ),
    Programme(
        "together",
        TOGETHER,
        70,
        ("one@8s-9s", "two@8s-9s", "all@8s-9s", "rol@16s-18s", "sha@22s-24s", "one@59s-60s", "all@59s-60s"),
    ),
    *(classes(mode) for mode in Mode if PRECISE.get(mode)),
)
