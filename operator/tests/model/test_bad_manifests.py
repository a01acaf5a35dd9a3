from __future__ import annotations

from pathlib import Path

import pytest

from understudy.cli import main
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.refusal import Refusal
from understudy.model.validate import check

from .bad_manifests import BAD, Bad
from .manifests import manifest

each = pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.fault)


def refusals(text: str) -> list[Refusal]:
    loaded = load(text)
    return list(check(loaded)) if isinstance(loaded, StreamJob) else loaded


def test_the_manifest_that_the_bad_ones_are_made_of_is_good() -> None:
    assert refusals(manifest()) == []


@each
def test_a_bad_manifest_gets_one_sentence_that_names_the_field(bad: Bad) -> None:
    (refusal,) = refusals(bad.text)
    assert refusal.field == bad.field
    assert refusal.message.startswith(refusal.field)
    for words in bad.words:
        assert words in refusal.message
    assert "\n" not in refusal.message
    assert refusal.reason.isalnum()
    assert refusal.reason[0].isupper()


@each
def test_a_bad_manifest_ends_the_command_with_2_and_no_traceback(
    bad: Bad, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(bad.text)
    with pytest.raises(SystemExit) as exit_:
        main(["plan", str(path)])
    assert exit_.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(str(path))
    assert "Traceback" not in err
