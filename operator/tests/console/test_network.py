from __future__ import annotations

from tests.console.runs import EXAMPLES, telemonitoring
from understudy.console.network import Place, links, places, ways
from understudy.model.job import StreamJob
from understudy.model.load import load


def example(name: str) -> StreamJob:
    found = load((EXAMPLES / f"{name}.yaml").read_text())
    assert isinstance(found, StreamJob)
    return found


def test_layers_go_from_sources_to_sinks() -> None:
    assert places(telemonitoring()) == {
        "source/ecg": Place(0, 0),
        "source/pressure": Place(0, 1),
        "subjob/beats": Place(1, 0),
        "subjob/pressures": Place(1, 1),
        "subjob/correlate": Place(2, 0),
        "sink/alerts": Place(3, 0),
    }


def test_every_edge_goes_to_a_later_layer_in_every_example() -> None:
    for path in EXAMPLES.glob("*.yaml"):
        job = example(path.stem)
        where = places(job)
        assert all(where[a].layer < where[b].layer for a, b in links(job)), path.name
        assert len(set(where.values())) == len(where), path.name


def test_nodes_stand_beside_their_neighbours_so_that_edges_do_not_cross() -> None:
    """In the order of the manifest, both edges from the sources would cross."""
    crossed = telemonitoring()
    crossed = crossed.model_copy(update={"sources": crossed.sources[::-1]})
    where = places(crossed)
    rows = [where[node].row for node in ("source/ecg", "source/pressure")]
    assert rows == [where[node].row for node in ("subjob/beats", "subjob/pressures")]


def test_a_long_edge_has_a_way_of_its_own_through_every_layer_between() -> None:
    job = example("every-mode")
    where = places(job)
    passed = {link: ways(where, *link) for link in links(job)}
    long = {link: found for link, found in passed.items() if found}
    assert long
    for (producer, consumer), found in long.items():
        between = range(where[producer].layer + 1, where[consumer].layer)
        assert [way.layer for way in found] == list(between)
    nodes = [where[node] for link in passed for node in link]
    assert not {way for found in long.values() for way in found} & set(nodes)
