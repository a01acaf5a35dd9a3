"""Wiring: every input exists, no subjob reads itself, every stream is read, several inputs meet in an
operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..elements import left_inputs
from ..job import StreamJob, Subjob
from ..network import find_cycle
from ..operators import Operator, kind_of
from ..refusal import Refusal, did_you_mean, listed, path, refuse


def unknown_inputs(job: StreamJob) -> Iterator[Refusal]:
    known = [source.name for source in job.sources] + [subjob.name for subjob in job.subjobs]
    wanted = [
        (path("spec", "subjobs", n, "inputs", m), name)
        for n, subjob in enumerate(job.subjobs)
        for m, name in enumerate(subjob.inputs)
    ]
    wanted += [(path("spec", "sinks", n, "input"), sink.input) for n, sink in enumerate(job.sinks)]
    for field, name in wanted:
        if name not in known:
            what = f"there is no source or subjob {name}{did_you_mean(name, known)}"
            yield refuse("UnknownInput", field, f"{what}; write one of {', '.join(known)}")


def cycles(job: StreamJob) -> Iterator[Refusal]:
    if ring := find_cycle(job):
        place = next(n for n, subjob in enumerate(job.subjobs) if subjob.name in ring)
        what = f"subjobs feed each other in a ring ({' → '.join(ring)}); write inputs that come from sources"
        yield refuse("Cycle", path("spec", "subjobs", place, "inputs"), what)


def operators_or_elements(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        here = path("spec", "subjobs", n)
        if subjob.operators and subjob.elements:
            yield refuse(
                "NotExactlyOne", f"{here}.elements", "operators are there too; write operators or elements"
            )
        elif not subjob.operators and not subjob.elements:
            yield refuse(
                "Empty", f"{here}.operators", "there is nothing to compute; write at least one operator"
            )


def chains(job: StreamJob) -> Iterator[Refusal]:
    """How several inputs meet in one chain of operators (see `elements`)."""
    for n, subjob in enumerate(job.subjobs):
        if not subjob.elements:
            yield from _chain(path("spec", "subjobs", n), subjob.inputs, subjob.operators)
        for m, spec in enumerate(subjob.elements):
            yield from _chain(path("spec", "subjobs", n, "elements", m), spec.inputs, spec.operators)


def _chain(here: str, inputs: Sequence[str], operators: Sequence[Operator]) -> Iterator[Refusal]:
    left = left_inputs(inputs, operators)
    yield from _joins(here, inputs, operators, left)
    yield from _misplaced(here, operators, left)
    first = operators[0] if operators else None
    if len(left) > 1 and not (first is not None and first.merges):
        instead = "begin the operators with union, name one in a join, or leave it out"
        yield refuse("UnusedInput", f"{here}.inputs", f"{listed(left, 'and')} do not meet; {instead}")


def _joins(
    here: str, inputs: Sequence[str], operators: Sequence[Operator], left: Sequence[str]
) -> Iterator[Refusal]:
    for n, operator in enumerate(operators):
        if (name := operator.right_input) is None:
            continue
        field = f"{path(here, 'operators', n)}.{kind_of(operator)}.with"
        if name not in inputs:
            known = [one for one in inputs if one not in left[:1]] or list(inputs)
            what = f"{name} is not an input here{did_you_mean(name, known)}; write one of {', '.join(known)}"
            yield refuse("UnknownInput", field, what)
        elif name in left:
            yield refuse("SelfJoin", field, f"{name} is the left side already; write another of the inputs")


def _misplaced(here: str, operators: Sequence[Operator], left: Sequence[str]) -> Iterator[Refusal]:
    for n, operator in enumerate(operators):
        if fault := operator.misplaced(n, len(left)):
            yield fault.at(f"{path(here, 'operators', n)}.{kind_of(operator)}")


# ---- elements cut by hand --------------------------------------------------------------------------------


def element_inputs(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        known = list(subjob.inputs)
        for m, spec in enumerate(subjob.elements):
            for k, name in enumerate(spec.inputs):
                if name not in known:
                    what = (
                        f"{name} is neither an input nor an element before; write one of {', '.join(known)}"
                    )
                    yield refuse("UnknownInput", path("spec", "subjobs", n, "elements", m, "inputs", k), what)
            known.append(spec.name)


def unread_elements(job: StreamJob) -> Iterator[Refusal]:
    for n, subjob in enumerate(job.subjobs):
        yield from _unread(path("spec", "subjobs", n), subjob)


def _unread(here: str, subjob: Subjob) -> Iterator[Refusal]:
    read = {name for spec in subjob.elements for name in spec.inputs}
    ends = [spec.name for spec in subjob.elements if spec.name not in read]
    if len(ends) > 1:
        what = f"{listed(ends, 'and')} are read by no element; leave one, it gives the subjob's stream"
        yield refuse("SeveralOutputs", f"{here}.elements", what)
    for n, name in enumerate(subjob.inputs):
        if subjob.elements and name not in read:
            yield refuse("UnusedInput", path(here, "inputs", n), f"no element reads {name}; leave it out")
