from __future__ import annotations

import random

import pytest

from understudy.runtime.engine.inbox import Inbox
from understudy.testing import oracle

from .rig import Host, chunks, element, expected, generator_spec, plain

pytestmark = pytest.mark.spark

ECG = generator_spec("ecg", 500, patient="concat('p', _seq % 20)", mv="(_seq * 7919 % 1000) / 500.0D", at="ts")


def ecg(count: int) -> list[oracle.Row]:
    return oracle.generator(
        500, count, lambda n, ts: {"patient": f"p{n % 20}", "mv": n * 7919 % 1000 / 500.0, "at": ts}
    )


@pytest.mark.parametrize("seed", range(3))
def test_filter_and_map_give_the_same_however_the_input_is_cut(host: Host, seed: int) -> None:
    chain = element(
        ["ecg"],
        [{"filter": {"where": "mv > 0.8 and _seq % 3 > 0"}}, {"map": {"select": {"who": "patient", "x": "mv * 2"}}}],
    )
    rows = oracle.filtered(ecg(500), lambda r: r.columns["mv"] > 0.8 and r.seq % 3 > 0)
    rows = oracle.mapped(rows, lambda r: {"who": r.columns["patient"], "x": r.columns["mv"] * 2})
    inbox = Inbox(chain, [ECG])
    with host.running(inbox) as output:
        for _, stop in chunks(500, random.Random(seed), 200):
            inbox.advance("ecg", stop)
        inbox.end("ecg", 500)
        output.wait()
    assert plain(output.table) == expected(rows)


@pytest.mark.parametrize(("size", "slide"), [(100, 10), (50, 50), (30, 7)])
def test_count_windows_close_where_the_position_says(host: Host, size: int, slide: int) -> None:
    chain = element(
        ["ecg"],
        [
            {"filter": {"where": "mv > 0.8"}},
            {
                "aggregate": {
                    "window": {"on": "_seq", "size": size, "slide": slide},
                    "groupBy": ["patient"],
                    "select": {"beats": "count(*)", "total": "sum(mv)"},
                }
            },
        ],
    )
    kept = oracle.filtered(ecg(505), lambda r: r.columns["mv"] > 0.8)
    rows = oracle.count_windows(
        ecg(505),
        kept,
        size,
        slide,
        ["patient"],
        lambda m: {"beats": len(m), "total": sum(r.columns["mv"] for r in m)},
    )
    inbox = Inbox(chain, [ECG])
    with host.running(inbox) as output:
        for _, stop in chunks(505, random.Random(size), 150):
            inbox.advance("ecg", stop)
        inbox.end("ecg", 505)
        output.wait()
    assert plain(output.table) == expected(rows)
