"""One thing that goes wrong in a simulated job, and when."""

from __future__ import annotations

from dataclasses import dataclass

from understudy_lab.simulation.world import MS

TIMES = {
    **{"again": 4, "apart again and again": 5, "overload": 5},
    **dict.fromkeys(("refused", "half open", "hung engine"), 1),
}  # what does not take twice as long as it says
SILENT = "without a word"
VARIANTS = {
    **dict.fromkeys(("crash", "link, then crash", "standby", "together", "cascade", "again", "gone"), SILENT),
    **dict.fromkeys(("migrate, source dies", "migrate, target dies", "late, then crash"), SILENT),
    **dict.fromkeys(("refused", "half open"), "its standby dies"),
    "one way": "it is not heard",
    "hung engine": "for ever",
    "clock": "forward",
    "paused sink": "replaced meanwhile",
    "paused control": "to another node",
}  # what `silent` means


@dataclass(frozen=True)
class Fault:
    at: int
    kind: str
    subjob: str
    lasts: int
    silent: bool
    other: str = ""

    @property
    def over(self) -> int:
        """When nothing is failing any more."""
        return self.at + TIMES.get(self.kind, 2) * self.lasts

    def __str__(self) -> str:
        who = f" {self.subjob}" + (f" and {self.other}" if self.other else "")
        manner = f", {VARIANTS[self.kind]}" if self.silent and self.kind in VARIANTS else ""
        return f"{self.at / MS:7.1f} ms  {self.kind}{who} ({self.lasts / MS:.0f} ms{manner})"
