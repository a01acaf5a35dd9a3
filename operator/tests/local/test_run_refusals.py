"""What cannot be run is refused before anything starts: a sentence, exit code 2 or 3, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.jobs import TWO_SUBJOBS
from understudy.cli import main

GOOD = TWO_SUBJOBS.replace("MODE", "passiveStandby")


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(GOOD)
    return path


def refused(words: list[object], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        code = main([str(word) for word in words])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    assert code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--kill", "nobody@5s"], "there is no subjob 'nobody'"),
        (["--kill", "beats@soon"], "write SUBJOB@TIME"),
        (["--duration", "10s", "--kill", "beats@11s"], "the streams end after 10s"),
        (["--duration", "10s", "--partition", "beats|strong@11s+2s"], "the streams end after 10s"),
        (["--duration", "soon"], "not a duration"),
        (["--duration=-5s"], "negative"),
        (["--duration", "0s"], "write more than 0"),
    ],
)
def test_words_that_mean_nothing(
    words: list[str], sentence: str, manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert sentence in refused(["run", manifest, "--output", output, *words], capsys)
    assert not output.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD.replace("inputs: [strong]", "inputs: [weak]"), "weak"),
        (GOOD.replace("mv > 0", "mv >"), "spec.subjobs[0]"),
        (GOOD.replace("passiveStandby", "amnesia, guarantee: precise"), "guarantee"),
        (GOOD.replace("passiveStandby", "hopeful"), "hopeful"),
        ("- 1", "manifest"),
        ("{", "YAML"),
    ],
)
def test_bad_manifests(
    text: str, sentence: str, manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest.write_text(text)
    assert sentence in refused(["run", manifest, "--output", tmp_path / "out"], capsys)
    assert not (tmp_path / "out").exists()


def test_a_manifest_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere.yaml" in refused(["run", tmp_path / "nowhere.yaml"], capsys)


def test_a_machine_without_java_gets_a_sentence_with_the_remedy(
    manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert main(["run", str(manifest), "--output", str(tmp_path / "out")]) == 3
    assert "JAVA_HOME" in capsys.readouterr().err


def test_verify_wants_the_folder_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "job.yaml" in refused(["verify", tmp_path], capsys)
