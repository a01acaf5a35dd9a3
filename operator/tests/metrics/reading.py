"""An exposition, read with the library's own parser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from understudy.metrics.exposition import exposition
from understudy.metrics.pages import samples_of
from understudy.protocol.statuspage import StatusPage


@dataclass(frozen=True)
class Scrape:
    kinds: Mapping[str, str]
    """Family → gauge, counter or histogram."""
    helps: Mapping[str, str]
    values: Mapping[tuple[str, frozenset[tuple[str, str]]], float]

    def __call__(self, name: str, **labels: str) -> float | None:
        """The value of the only series of that name that has these labels."""
        wanted = labels.items()
        found = [value for (n, has), value in self.values.items() if n == name and wanted <= has]
        assert len(found) < 2, f"{name} {labels} has {len(found)} series"
        return found[0] if found else None

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.values}


def read(text: str) -> Scrape:
    families = list(text_string_to_metric_families(text))
    samples = [sample for family in families for sample in family.samples]
    values = {(s.name, frozenset(s.labels.items())): s.value for s in samples}
    assert len(values) == len(samples), "two samples of the same series"
    return Scrape({f.name: f.type for f in families}, {f.name: f.documentation for f in families}, values)


def scraped(page: StatusPage) -> Scrape:
    raw, _ = exposition(page)
    found = read(raw.decode())
    assert len(found.values) == len(samples_of(page))
    return found
