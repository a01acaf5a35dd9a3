"""A refusal is a value, not an exception: why a manifest is not accepted, at which field, and what to write
instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: str
    """A CamelCase constant, the reason of the condition Accepted=False."""
    field: str
    """The field, such as `spec.subjobs[1].ha.guarantee`; empty for the manifest as a whole."""
    message: str
    """One sentence that names the field and says what to write instead."""

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal whose field is not known yet."""

    reason: str
    what: str

    def at(self, field: str) -> Refusal:
        return refuse(self.reason, field, self.what)


def refuse(reason: str, field: str, what: str) -> Refusal:
    """The sentence begins with the field, so that it stands on its own in an event or on a terminal."""
    return Refusal(reason, field, f"{field}: {what}" if field else what)


def path(*steps: str | int) -> str:
    """`path("spec", "subjobs", 1, "name")` is `spec.subjobs[1].name`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean x?` or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def listed(words: Sequence[str], last: str = "or") -> str:
    """`a, b or c`."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)
