"""What is known about each sink after the run, and whether the guarantee was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from understudy.local.report.comparison import Comparison, keeps
from understudy.model.guarantees import Recovery
from understudy.model.ha import Guarantee


@dataclass(frozen=True, slots=True)
class Verdict:
    promised: Guarantee
    comparison: Comparison | None
    """None: there is nothing to compare."""
    objection: str | None = None
    """What is wrong besides the tuples themselves."""
    remark: str | None = None
    """What a reader of the verdict should know."""

    @property
    def kept(self) -> bool:
        if self.objection is not None:
            return False
        return self.comparison is None or keeps(self.comparison.recovery, self.promised)

    def sentence(self) -> str:
        said = self.objection or (
            describe(self.comparison) if self.comparison else self.remark or "not compared"
        )
        return f"{said}; promised {self.promised}"


def describe(found: Comparison) -> str:
    if found.recovery is Recovery.PRECISE:
        return f"precise: all {found.tuples:,} tuples once and in order"
    counts = f"{found.lost:,} lost, {found.duplicated:,} duplicated, {found.reordered:,} out of order"
    return f"{found.recovery}: {found.tuples:,} tuples where {found.expected:,} were due, {counts}"


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    found = verdict.comparison
    return {
        "promised": verdict.promised.value,
        "kept": verdict.kept,
        "objection": verdict.objection,
        "remark": verdict.remark,
        **(asdict(found) if found else {"recovery": None}),
    }


def verdict_from_json(value: Mapping[str, Any]) -> Verdict:
    about = {"promised", "kept", "objection", "remark"}
    found = {k: v for k, v in value.items() if k not in about}
    comparison = None
    if found["recovery"] is not None:
        holes = tuple((at, count) for at, count in found["holes"])
        known = {"recovery": Recovery(found["recovery"]), "surplus": tuple(found["surplus"]), "holes": holes}
        comparison = Comparison(**{**found, **known})
    return Verdict(Guarantee(value["promised"]), comparison, value["objection"], value["remark"])
