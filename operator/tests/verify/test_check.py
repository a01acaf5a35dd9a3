"""A run's folder and a reference in, verdicts out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.local.jobs import TWO_SUBJOBS, job
from understudy.local.effective import write
from understudy.local.folder import Folder
from understudy.local.report.verdicts import verdict_from_json, verdict_to_json
from understudy.model.guarantees import Recovery
from understudy.model.job import StreamJob
from understudy_lab.verify.check import NotARun, Run, check, read_run

E: list[dict[str, Any]] = [{"n": n, "_seq": n} for n in range(10)]


def run_of(path: Path, rows: list[dict[str, Any]], of: StreamJob | None = None, **record: Any) -> Run:
    folder = Folder(path)
    folder.clear()
    write(of or job(), folder.job)
    folder.record.write_text(json.dumps(record))
    folder.sink("alerts").mkdir(parents=True)
    (folder.sink("alerts") / "part-00000.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_run(folder)


def numbered(values: list[int]) -> list[dict[str, Any]]:
    return [{"n": n, "_seq": seq} for seq, n in enumerate(values)]


def test_a_complete_stream_keeps_its_promise(tmp_path: Path) -> None:
    verdict = check(run_of(tmp_path, E), lambda *_: E)["alerts"]
    assert verdict.kept
    assert verdict.sentence() == "precise: all 10 tuples once and in order; promised precise"


def test_a_loss_breaks_the_promise_and_is_counted(tmp_path: Path) -> None:
    verdict = check(run_of(tmp_path, numbered([0, 1, 2, 5, 6, 7, 8, 9])), lambda *_: E)["alerts"]
    assert not verdict.kept
    assert verdict.sentence().startswith("gap: 8 tuples where 10 were due, 2 lost")


def test_the_weakest_subjob_on_the_path_decides(tmp_path: Path) -> None:
    verdict = check(run_of(tmp_path, numbered([0, 1, 9]), job(mode="amnesia")), lambda *_: E)["alerts"]
    assert verdict.kept
    assert verdict.comparison is not None
    assert (verdict.comparison.recovery, verdict.comparison.lost) == (Recovery.GAP, 7)


def test_a_hole_in_the_numbers_is_an_objection_even_if_all_tuples_are_there(tmp_path: Path) -> None:
    verdict = check(run_of(tmp_path, [*E[:9], {"n": 9, "_seq": 11}]), lambda *_: E)["alerts"]
    assert not verdict.kept
    assert verdict.objection == "_seq 8 is followed by 11"


def test_a_torn_file_is_an_objection(tmp_path: Path) -> None:
    run = run_of(tmp_path, E)
    (run.folder.sink("alerts") / "part-00001.jsonl").write_text('{"n": 10, "_s')
    assert not check(run, lambda *_: E)["alerts"].kept


def test_a_sink_that_never_wrote_has_lost_everything(tmp_path: Path) -> None:
    verdict = check(run_of(tmp_path, []), lambda *_: E)["alerts"]
    assert verdict.comparison is not None
    assert verdict.comparison.lost == 10


def test_a_run_that_was_stopped_is_compared_as_far_as_it_came(tmp_path: Path) -> None:
    assert check(run_of(tmp_path, E[:6], complete=False), lambda *_: E)["alerts"].kept
    assert not check(run_of(tmp_path, E[:6], complete=True), lambda *_: E)["alerts"].kept


SAMPLED = TWO_SUBJOBS.replace('{filter: {where: "mv > 0"}}', "{sample: {fraction: 0.5}}").replace(
    "input: beats", "input: strong"
)
RANDOM = TWO_SUBJOBS.replace("mv > 0", "rand() > 0.5")
MERGED = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: merged}
spec:
  sources:
    - {name: a, generator: {rate: 10, fields: {n: "_seq"}}}
    - {name: b, generator: {rate: 10, fields: {n: "-_seq"}}}
  subjobs:
    - {name: both, inputs: [a, b], operators: [{union: {}}], ha: {mode: MODE}}
  sinks: [{name: alerts, input: both, files: {path: out}}]
"""


@pytest.mark.parametrize(
    ("text", "values", "recovery"),
    [
        (SAMPLED, [0, 1, 4, 5, 9], Recovery.PRECISE),
        (SAMPLED, [0, 1, 4, 1, 4, 5, 9], Recovery.REPEATING),
        (SAMPLED, [0, 4, 1, 9], Recovery.DIVERGENT),
        (SAMPLED, [0, 1, 70], Recovery.DIVERGENT),
        (MERGED, [0, 2, 1, 4, 3, 5, 6, 8, 7, 9], Recovery.PRECISE),
        (MERGED, [0, 2, 1, 4, 3, 5, 8, 7, 9], Recovery.GAP),
        (MERGED, [0, 2, 1, 4, 2, 3, 5, 6, 8, 7, 9], Recovery.REPEATING),
    ],
)
def test_a_possible_result_is_distinguished_from_an_impossible_one(
    tmp_path: Path, text: str, values: list[int], recovery: Recovery
) -> None:
    verdict = check(run_of(tmp_path, numbered(values), job(text)), lambda *_: E)["alerts"]
    assert verdict.comparison is not None
    assert verdict.comparison.recovery is recovery
    assert verdict.kept is (recovery is Recovery.PRECISE)


def test_a_query_with_unpredictable_tuples_is_judged_by_its_declared_losses(tmp_path: Path) -> None:
    other = numbered([0, 3, 2, 70, 80])
    verdict = check(run_of(tmp_path, other, job(RANDOM)), lambda *_: E)["alerts"]
    assert verdict.kept
    assert verdict.comparison is None
    assert "not compared" in verdict.sentence()
    status = {"strong-0": {"subjob": "strong", "losses": [{"stream": "ecg", "from": 3, "to": 8}]}}
    verdict = check(run_of(tmp_path, other, job(RANDOM), status=status), lambda *_: E)["alerts"]
    assert not verdict.kept
    assert verdict.comparison is not None
    assert (verdict.comparison.recovery, verdict.comparison.lost) == (Recovery.GAP, 5)


def test_a_console_is_not_compared(tmp_path: Path) -> None:
    text = TWO_SUBJOBS.replace("files: {path: out/alerts}", "console: {}")
    verdict = check(run_of(tmp_path, [], job(text)), lambda *_: E)["alerts"]
    assert verdict.comparison is None
    assert verdict.kept


def test_verdicts_survive_being_written_down(tmp_path: Path) -> None:
    for rows in (E, numbered([0, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9])):
        verdict = check(run_of(tmp_path, rows), lambda *_: E)["alerts"]
        assert verdict_from_json(json.loads(json.dumps(verdict_to_json(verdict)))) == verdict
    objection = replace(verdict, comparison=None, objection="no")
    assert verdict_from_json(json.loads(json.dumps(verdict_to_json(objection)))) == objection


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotARun, match=r"job\.yaml"):
        read_run(Folder(tmp_path))
