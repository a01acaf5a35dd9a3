"""What an edit of a running job requires, in one table: for the operator, and for `understudy run`, which
accepts the edits that can be made live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from understudy.model.job import StreamJob
from understudy.model.sources import HINTS


class Needs(Enum):
    LIVE = "is changed in the running instances"
    ROLLING = "needs new instances, one after another: the standby, then the primary"
    REPLACEMENT = "needs new instances at once: they compute something else"


# Per field of a subjob. What is not named here says what is computed.
SUBJOB: Final[Mapping[str, Needs]] = {"ha": Needs.LIVE, "queue": Needs.ROLLING, "spark": Needs.ROLLING}


def of_subjob(field: str) -> Needs:
    return SUBJOB.get(field, Needs.REPLACEMENT)


@dataclass(frozen=True, slots=True)
class Edit:
    field: str
    needs: Needs


def edits(before: StreamJob, after: StreamJob) -> tuple[Edit, ...]:
    """Every field in which the manifests differ."""
    return tuple(_differences(_plain(before), _plain(after)))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Edit]:
    for part in _keys(before, after):
        if part != "subjobs":
            if before.get(part) != after.get(part):
                yield Edit(f"spec.{part}", Needs.REPLACEMENT)
            continue
        old, new = _by_name(before[part]), _by_name(after[part])
        for name in _keys(old, new):
            fields = _keys(old.get(name, {}), new.get(name, {}))
            changed = [f for f in fields if old.get(name, {}).get(f) != new.get(name, {}).get(f)]
            yield from (Edit(f"spec.subjobs[{name}].{field}", of_subjob(field)) for field in changed)


def _keys(*mappings: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys(key for mapping in mappings for key in mapping)


def _by_name(subjobs: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {str(subjob["name"]): subjob for subjob in subjobs}


def _plain(job: StreamJob) -> dict[str, Any]:
    return job.model_dump(mode="json", by_alias=True, exclude={"sources": {"__all__": dict(HINTS)}})
