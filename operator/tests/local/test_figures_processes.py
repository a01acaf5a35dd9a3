"""What incidents and status pages say, held against a process outside that watches the files of the sinks.

In one run the primary of each subjob is killed, and later both of its instances at once.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.local.command import Command

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(900)]

RATE = 200
SLACK = RATE // 2  # tuples: a page is read every 200 ms, a micro-batch and a keep-alive take 100 ms each
KILL, LOSS, END = 10, 50, 110  # seconds
CALM_MS = 4_000
HA = {
    "amnesia": "{mode: amnesia, spare: true}",
    "passive": "{mode: passiveStandby, checkpoint: {interval: 2s}, maxRecovery: 3s}",
    "active": "{mode: activeStandby}",
    "replica": "{mode: replicaBackup}",
    "upstream": "{mode: upstreamBackup}",
    "savepoint": "{mode: savepoint}",
}
TOGETHER = (("amnesia", "passive", "upstream", "savepoint"), ("active", "replica"))
SUBJOB = '    - {name: NAME, inputs: [numbers], operators: [{map: {select: {n: "n"}}}], ha: HA}\n'
SINK = "    - {name: NAME, input: NAME, files: {path: out/NAME}}\n"
JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: figures}
spec:
  sources: [{name: numbers, generator: {rate: RATE, fields: {n: "_seq * 3"}}}]
  subjobs:
SUBJOBS  sinks:
SINKS"""


def manifest(names: tuple[str, ...]) -> str:
    subjobs = "".join(SUBJOB.replace("NAME", n).replace("HA", HA[n]) for n in names)
    sinks = "".join(SINK.replace("NAME", n) for n in names)
    return JOB.replace("RATE", str(RATE)).replace("SUBJOBS", subjobs).replace("SINKS", sinks)


class Observer(threading.Thread):
    """Looks at files and pages, by a clock of its own."""

    def __init__(self, out: Path, names: tuple[str, ...]) -> None:
        super().__init__(daemon=True)
        self._out, self._over = out, threading.Event()
        self._sizes = dict.fromkeys(names, 0)
        self._looked = 0.0
        self.grew: dict[str, list[float]] = {name: [] for name in names}
        self.costs: dict[str, list[tuple[float, dict[str, Any]]]] = {}
        self._wall = time.time() - time.monotonic()

    def run(self) -> None:
        while not self._over.wait(0.01):
            for name, before in self._sizes.items():
                size = sum(file.stat().st_size for file in (self._out / "sinks" / name).glob("*.jsonl"))
                if size > before:
                    self._sizes[name] = size
                    self.grew[name].append(self.now_ms())
            if time.monotonic() - self._looked > 0.2:
                self._looked = time.monotonic()
                self._look_at_pages()

    def now_ms(self) -> float:
        return (time.monotonic() + self._wall) * 1000

    def _look_at_pages(self) -> None:
        for file in (self._out / "surroundings" / "instances").glob("*.json"):
            try:
                address = json.loads(file.read_text())["status"]
                with urllib.request.urlopen(f"http://{address}/status", timeout=0.3) as page:
                    cost = json.load(page).get("ifItFailedNow")
            except (OSError, ValueError, KeyError):
                continue
            if cost is not None:
                self.costs.setdefault(file.stem, []).append((self.now_ms(), cost))

    def gap(self, name: str, begins_before: float, ends_after: float) -> float:
        """The longest time without a tuple that began before the one moment and ended after the other."""
        return max(b - a for a, b in pairwise(self.grew[name]) if a < begins_before and b > ends_after)

    def pause(self, name: str, before: float) -> float:
        """The longest time between two writes while nothing failed: in the seconds before the first fault."""
        calm = [at for at in self.grew[name] if before - CALM_MS < at < before]
        return max((b - a for a, b in pairwise(calm)), default=0.0)

    def cost(self, instance: str, before: float) -> dict[str, Any]:
        """What its page said last."""
        return next(cost for at, cost in reversed(self.costs[instance]) if at < before)

    def stop(self) -> None:
        self._over.set()
        self.join()


@pytest.mark.parametrize("names", TOGETHER, ids="-".join)
def test_figures_are_what_an_observer_outside_sees(names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(manifest(names))
    kills = [word for n in names for word in ("--kill", f"{n}@protected@{KILL}s")]
    kills += [
        word for n in names for role in ("primary", "standby") for word in ("--kill", f"{n}@{role}@{LOSS}s")
    ]
    observer = Observer(tmp_path / "out", names)
    observer.start()
    command = Command(
        "run", "job.yaml", "--duration", f"{END}s", *kills, "--output", "out", "--json", cwd=tmp_path
    )
    code = command.wait(600)
    observer.stop()
    print(command.said())
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    killed = [i for i in record["incidents"] if "killed" in i["cause"]]
    taken_over = [
        i for i in killed if i["recovery_ms"] is not None
    ]  # of two replicas, that of the one left last
    first_ms = min(i["at_ms"] for i in killed)
    wrong = [sentence for i in taken_over for sentence in compared(i, first_ms, observer)]
    assert len(taken_over) == 2 * len(names)
    assert wrong == []
    reported = [i["recoveryMs"] for i in command.json()["incidents"] if i["recoveryMs"] is not None]
    assert reported == [i["recovery_ms"] for i in record["incidents"] if i["recovery_ms"] is not None]
    too_late = any(i["subjob"] == "passive" and (i["recovery_ms"] or 0) > 3_000 for i in record["incidents"])
    assert ("its maxRecovery is 3000 ms" in (tmp_path / "out" / "report.html").read_text()) is too_late
    assert code in (0, 1)
    assert code == 1 or not too_late


def compared(incident: dict[str, Any], first_ms: float, observer: Observer) -> list[str]:
    """A sentence for each figure that is not what happened.

    A recovery is counted from the last sign of life. That may come after the last tuple, but not by more than
    the pause that lies between two writes anyway.
    """
    name, at, said = incident["subjob"], incident["at_ms"], incident["recovery_ms"]
    lost_both = at > first_ms + (LOSS - KILL) * 500
    seen, pause = observer.gap(name, at + 500, at), observer.pause(name, first_ms)
    told = f"{name}, {'both' if lost_both else 'primary'}: {said} ms said, {seen:.0f} ms seen, pauses of {pause:.0f} ms"
    print(told)
    slack = max(200, seen / 5)
    wrong = [] if seen - pause - slack <= said <= seen + slack else [told]
    if lost_both:
        return wrong
    cost = observer.cost(incident["victim"], at)
    print(f"{name}: {cost}, {incident['replayed']} replayed, {incident['lost']} lost")
    for cost_told, happened in (
        (cost["replayTuples"], incident["replayed"]),
        (cost["lostTuples"], incident["lost"]),
    ):
        if not cost_told / 2 - SLACK <= happened <= cost_told * 2 + SLACK:
            wrong.append(f"{name}: {cost}, {incident['replayed']} replayed, {incident['lost']} lost")
    return wrong
