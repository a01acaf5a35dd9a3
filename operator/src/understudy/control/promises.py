"""What each subjob promises while it runs: the class of its operators, its guarantee in force, and why."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.control.views import SubjobView
from understudy.model.ha import Guarantee, Mode


@dataclass(frozen=True, slots=True)
class Promise:
    operator_class: str
    guarantee: Guarantee
    why: str


def promise_of(view: SubjobView) -> Promise:
    if view.subjob.ha.mode is Mode.AMNESIA:
        return Promise("", Guarantee.GAP, "amnesia keeps nothing")
    return Promise("", Guarantee.PRECISE, "")
