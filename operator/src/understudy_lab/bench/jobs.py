"""The queries of the benchmarks as StreamJobs; `plain_pyspark` has the same."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from understudy.model.classes import OperatorClass
from understudy.model.ha import Mode, Strategy
from understudy.model.job import StreamJob
from understudy.model.load import load

_ECG = """
    - name: ecg
      generator:
        rate: {rate}
        fields:
          patient: "concat('p', _seq % 20)"
          mv: "sin(_seq * 0.05) + (hash(_seq) % 100) / 500.0"
"""

_BEATS = """
        - filter: {where: "mv > 0.5"}
        - aggregate:
            window: {on: ts, size: 1s, slide: 100ms}
            groupBy: [patient]
            select: {beats: "count(*)", peak: "max(mv)"}
"""

_HEAD = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: bench}
spec:
  sources:
"""


def two_subjobs(rate: int, mode: Mode) -> StreamJob:
    """Windows over heart beats in one subjob, a threshold in the next."""
    return _job(f"""{_HEAD}{_ECG.format(rate=rate)}
  subjobs:
    - name: beats
      inputs: [ecg]
      operators:{_BEATS}
      ha: {{mode: {mode}}}
    - name: alerts
      inputs: [beats]
      operators:
        - filter: {{where: "peak > 0.6"}}
      ha: {{mode: {mode}}}
  sinks:
    - {{name: out, input: alerts, files: {{path: out}}}}
""")


def one_subjob(rate: int, mode: Mode = Mode.PASSIVE_STANDBY) -> StreamJob:
    """The same query in one subjob."""
    return _job(f"""{_HEAD}{_ECG.format(rate=rate)}
  subjobs:
    - name: beats
      inputs: [ecg]
      operators:{_BEATS}
        - filter: {{where: "peak > 0.6"}}
      ha: {{mode: {mode}}}
  sinks:
    - {{name: out, input: beats, files: {{path: out}}}}
""")


def four_by_two(rate: int, strategy: Strategy) -> StreamJob:
    """Zhang's layout: a chain of four subjobs with two elements each, every tuple passes."""
    names = ["source", "one", "two", "three", "four"]
    subjobs = "".join(
        f"""
    - name: {name}
      inputs: [{before}]
      elements:
        - name: first
          inputs: [{before}]
          operators: [{{map: {{select: {{patient: patient, mv: "mv + 1"}}}}}}]
        - name: second
          inputs: [first]
          operators: [{{map: {{select: {{patient: patient, mv: "mv - 1"}}}}}}]
      ha: {{checkpoint: {{strategy: {strategy}}}}}"""
        for before, name in pairwise(names)
    )
    source = _ECG.format(rate=rate).replace("name: ecg", "name: source")
    sink = "{name: out, input: four, files: {path: out}}"
    return _job(f"{_HEAD}{source}\n  subjobs:{subjobs}\n  sinks: [{sink}]")


def rows(rate: int, limit: int, cores: int, ha: str = "{mode: amnesia}") -> StreamJob:
    """Row by row, as fast as it goes. Few rows leave, so that no sink is what is measured."""
    return _job(f"""{_HEAD}
    - name: numbers
      generator:
        rate: {rate}
        limit: {limit}
        fields: {{patient: "concat('p', _seq % 20)", h: "hash(_seq)", mv: "sin(_seq * 0.05)"}}
  subjobs:
    - name: rows
      inputs: [numbers]
      operators:
        - filter: {{where: "h % 1000 = 0"}}
        - map: {{select: {{patient: patient, h: h, mv2: "mv * 2"}}}}
      ha: {ha}
      spark: {{driver: {{cores: {cores}}}}}
  sinks:
    - {{name: out, input: rows, files: {{path: out}}}}
""")


def passed_on(rate: int, limit: int, mode: Mode, queue: str) -> StreamJob:
    """A chain in which every tuple passes, with bounds for its output queues."""
    return _job(f"""{_HEAD}
    - name: numbers
      generator: {{rate: {rate}, limit: {limit}, fields: {{n: "_seq", twice: "_seq * 2"}}}}
  subjobs:
    - name: made
      inputs: [numbers]
      operators: [{{map: {{select: {{n: n, twice: twice}}}}}}]
      ha: {{mode: {mode}}}
      queue: {queue}
    - name: passed
      inputs: [made]
      operators: [{{filter: {{where: "twice >= n"}}}}]
      ha: {{mode: {mode}}}
      queue: {queue}
  sinks:
    - {{name: out, input: passed, files: {{path: out}}}}
""")


_SIDE_BY_SIDE = """
    - {{name: odd, generator: {{rate: {rate}, fields: {{k: "_seq * 2 + 1", g: "_seq % 3"}}}}}}
    - {{name: even, generator: {{rate: {rate}, fields: {{k: "_seq * 2", g: "_seq % 2"}}}}}}
"""
_COUNT = (
    "{aggregate: {window: {on: _seq, size: 20, slide: 10}, groupBy: [g], "
    'select: {n: "count(*)", k: "max(k)"}}}'
)
_MARKED = '{python: {function: "understudy_lab.bench.functions:marked", deterministic: true}}'


def side_by_side(rate: int, parts: Mapping[str, tuple[str, OperatorClass]]) -> StreamJob:
    """Subjobs with these settings and of these classes, each between its own sources and its own sink."""
    subjobs = [
        f"    - {{name: {name}, {_of_class(ha, kind)}, ha: {{mode: {ha}}}}}\n"
        for name, (ha, kind) in parts.items()
    ]
    sinks = [f"    - {{name: {name}s, input: {name}, files: {{path: {name}}}}}\n" for name in parts]
    return _job(
        "".join([_HEAD, _SIDE_BY_SIDE.format(rate=rate), "  subjobs:\n", *subjobs, "  sinks:\n", *sinks])
    )


def _of_class(ha: str, kind: OperatorClass) -> str:
    match kind:
        case OperatorClass.REPEATABLE:
            return 'inputs: [odd], operators: [{filter: {where: "k >= 0"}}]'
        case OperatorClass.CONVERGENT:
            return f"inputs: [odd], operators: [{_COUNT}]"
        case OperatorClass.DETERMINISTIC:  # a savepoint keeps one element
            return f"inputs: [odd], operators: [{_MARKED if ha == Mode.SAVEPOINT else _COUNT}, {_COUNT}]"
        case OperatorClass.ARBITRARY:
            return "inputs: [odd, even], operators: [{union: {}}]"


def _job(text: str) -> StreamJob:
    found = load(text)
    if not isinstance(found, StreamJob):
        raise ValueError("; ".join(refusal.message for refusal in found))
    return found
