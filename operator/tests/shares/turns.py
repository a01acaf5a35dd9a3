"""Whose turn it is. Shares are numbered from 1.

The commit decides: the number of commits on main (of first parents), modulo the number of shares. If each
landing is one commit there, as a merge commit is, as many landings as there are shares run all of them. A
landing of several commits moves on by several shares, and then chance decides: as many landings as there are
shares meet about two thirds of them, three times as many nearly all. So continuous integration also records,
where its cache is kept, which shares have run, and the one that has not run for the longest time comes first.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.shares.packing import SHARES


@dataclass(frozen=True)
class Turn:
    share: int
    why: str


def commits(checkout: Path) -> int:
    """Of a checkout without its history: a number by the newest commit alone. 0 without git."""
    if _git(checkout, "rev-parse", "--is-shallow-repository") == "true":
        return int(_git(checkout, "rev-parse", "--short=8", "HEAD"), 16)
    return int(_git(checkout, "rev-list", "--count", "--first-parent", "HEAD") or 0)


def _git(checkout: Path, *words: str) -> str:
    try:
        command = ["git", "-c", "safe.directory=*", *words]
        return subprocess.run(
            command, cwd=checkout, capture_output=True, text=True, check=False
        ).stdout.strip()
    except FileNotFoundError:
        return ""


def next_turn(commits: int, ran: Sequence[int]) -> Turn:
    """`ran`: the shares of earlier runs, the newest last."""
    by_commit = commits % SHARES + 1
    order = [(by_commit - 1 + n) % SHARES + 1 for n in range(SHARES)]
    since = {share: n for n, share in enumerate(ran)}  # later ones replace earlier ones
    share = min(order, key=lambda each: since.get(each, -1))
    if share == by_commit:
        return Turn(share, f"by the commit, number {commits}")
    return Turn(share, f"share {by_commit} would be next by the commit, but has run since this one did")


def ran(ledger: Path) -> list[int]:
    """Words that mean nothing, as of a file that was cut off, count for nothing."""
    words = ledger.read_text().split() if ledger.exists() else []
    return [int(word) for word in words if word.isdigit() and 0 < int(word) <= SHARES]


def remember(ledger: Path, share: int) -> None:
    ledger.parent.mkdir(parents=True, exist_ok=True)
    kept = [*ran(ledger), share][-5 * SHARES :]
    ledger.write_text("".join(f"{each}\n" for each in kept))
