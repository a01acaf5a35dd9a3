"""`make share`: runs one share of what is marked `slow`, and says how long each part of it took."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from tests.shares.packing import FILE, LIMIT, SHARES, UNKNOWN, Share, Unit, known, pack, unit
from tests.shares.turns import Turn, commits, next_turn, ran, remember

CHECKOUT = Path(__file__).parents[3]
LEDGER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "understudy" / "shares"
RESULTS = CHECKOUT / "build" / "share.xml"
PYTEST = (sys.executable, "-m", "pytest", "-o", "junit_family=xunit1", f"--junitxml={RESULTS}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "share", nargs="?", type=int, choices=range(1, SHARES + 1), help="else the one in turn"
    )
    parser.add_argument("--list", action="store_true", help="say what every share holds, and run nothing")
    parser.add_argument("--record", action="store_true", help=f"write what was measured into {FILE.name}")
    parser.add_argument("--no-cluster", action="store_true", help="leave out the cluster suite's part")
    args = parser.parse_args()
    shares = pack(units(), known())
    if args.list:
        for number, share in enumerate(shares, 1):
            print(described(number, share))
        return 0
    in_turn = args.share is None
    turn = next_turn(commits(CHECKOUT), ran(LEDGER)) if in_turn else Turn(args.share, "as asked for")
    share = shares[turn.share - 1]
    print(f"{described(turn.share, share)}\nchosen {turn.why}; again: make share N={turn.share}", flush=True)
    took, failed = run(share, cluster=not args.no_cluster)
    print("\n".join(compared(share, took)))
    if args.record:
        FILE.write_text(json.dumps(dict(sorted({**known(), **took}.items())), indent=2) + "\n")
    if in_turn and os.environ.get("CI") and not failed:
        remember(LEDGER, turn.share)
    return failed


def units() -> set[Unit]:
    return {unit(test) for folder in ("operator/tests", "e2e") for test in slow(folder)}


def slow(folder: str) -> Iterable[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "slow", folder]
    environment = {name: value for name, value in os.environ.items() if name != "UNDERSTUDY_DRILLS"}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the slow tests of {folder} cannot be collected:\n{done.stdout}{done.stderr}")
    return [line for line in done.stdout.splitlines() if "::" in line]


def described(number: int, share: Share) -> str:
    head = f"share {number} of {SHARES}: about {share.seconds // 60}:{share.seconds % 60:02} minutes"
    return "\n".join([head, *(f"    {known().get(each, UNKNOWN):4} s  {each}" for each in share.units)])


def run(share: Share, cluster: bool) -> tuple[dict[Unit, int], int]:
    """What each unit took, and how many parts failed."""
    local = [each for each in share.units if not each.startswith("e2e/")]
    remote = [each for each in share.units if each.startswith("e2e/")] if cluster else []
    took: dict[Unit, int] = {}
    failed = 0
    if local:
        failed += _run([*PYTEST, "-m", "slow", *local])
        took.update(measured(RESULTS))
    for each in remote:
        began = time.monotonic()
        failed += _run(["scripts/e2e", "--these", each, "-m", "slow"])
        took[each] = round(time.monotonic() - began)
    return took, failed


def _run(command: list[str]) -> int:
    return int(subprocess.run(command, cwd=CHECKOUT, check=False).returncode != 0)


def measured(results: Path) -> dict[Unit, int]:
    """The tests of the last run, in the words of pytest."""
    if not results.exists():
        return {}
    cases = ElementTree.parse(results).iter("testcase")
    return {f"{c.get('file')}::{c.get('name')}": round(float(c.get("time", "0"))) for c in cases}


def compared(share: Share, took: dict[Unit, int]) -> Iterable[str]:
    yield f"took {sum(took.values())} s of {LIMIT} s; reckoned were {share.seconds} s"
    for each, seconds in took.items():
        yield f"    {seconds:4} s for {known().get(each, UNKNOWN):4} s  {each}"


if __name__ == "__main__":
    raise SystemExit(main())
