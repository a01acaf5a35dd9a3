from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from understudy import __version__
from understudy.cli import COMMANDS, main

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"], ["-h"]):
        assert main(words) == 0
        out = capsys.readouterr().out
        assert "keeps Spark stream jobs alive" in out
        assert "understudy plan examples/telemonitoring.yaml" in out
        assert "docs/reference/streamjob.md" in out


def test_help_lists_the_commands_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    out = capsys.readouterr().out
    for command in COMMANDS:
        assert (f"  {command.name} " in out) == command.exists


def test_help_imports_no_command() -> None:
    """So that it is quick."""
    code = (
        "import sys, understudy.cli as c; c.main(['--help']); "
        "print([m for m in sys.modules if 'pydantic' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"understudy {__version__}\n"


@pytest.mark.parametrize("words", [["plam"], ["--what"], ["plam", "--help"]])
def test_a_command_that_does_not_exist_is_bad_input(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "there is no command" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_can_be_planned(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(path)]) == 0
    assert "passiveStandby" in capsys.readouterr().out


def test_the_plan_has_the_shape_that_the_documentation_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(ROOT / "examples" / "telemonitoring.yaml"), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert list(plan) == ["subjobs"]
    assert set(plan["subjobs"]) == {"beats", "pressures", "correlate"}
    for subjob in plan["subjobs"].values():
        assert set(subjob) >= {"operatorClass", "chosen", "why", "modes"}
        assert subjob["warning"] is None
        assert subjob["assumedRates"] == {}
        assert subjob["chosen"] == "passiveStandby"
        assert set(subjob["modes"]) == {
            *("amnesia", "passiveStandby", "upstreamBackup", "activeStandby", "replicaBackup", "savepoint")
        }
        for mode in subjob["modes"].values():
            assert set(mode) >= {"guarantee", "recoveryMs", "bandwidthOverhead"}
            assert mode["guarantee"] in ("gap", "rollback", "precise")
            assert mode["lostNodeRecoveryMs"] - mode["recoveryMs"] == pytest.approx(330, abs=1)
        assert subjob["modes"]["passiveStandby"]["pods"] == 2 * subjob["modes"]["amnesia"]["pods"]
    assert plan["subjobs"]["beats"]["operatorClass"] == "convergent"
    assert plan["subjobs"]["correlate"]["operatorClass"] == "repeatable"


def test_the_plan_is_in_the_units_of_people_and_says_what_it_assumes_and_warns_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "job.yaml").write_text(DAILY)
    assert main(["plan", str(tmp_path / "job.yaml")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"→ savepoint +precise +1 min \d+ s +1 min \d+ s +\+0\.0% +2 +2 +2 GiB", out)
    assert re.search(r"activeStandby +precise +\d+ ms +\d+ ms", out)
    assert "warning: daily: savepoint is predicted to recover in 1 min" in out
    assert "assumed: 1,000 tuples/s from log; write `rate` at the source" in out


DAILY = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: days}
spec:
  sources: [{name: log, files: {path: in, schema: "v bigint, ts timestamp"}}]
  subjobs:
    - name: daily
      inputs: [log]
      operators: [{aggregate: {window: {on: ts, size: 24h}, select: {n: "count(*)"}}}]
      ha: {mode: savepoint}
  sinks: [{name: out, input: daily, console: {}}]
"""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder"),
        (lambda path: path.write_bytes(b"\x7fELF\xff\xfe\x00" * 100), "not text"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(b"\x00\x01\x02"), "not YAML"),
        (lambda path: path.write_text("- a\n- b\n"), "is a list"),
        (lambda path: path.write_text("just words"), "is a str"),
        (lambda path: path.write_bytes(b"x" * (2 << 20)), "larger than 1 MiB"),
    ],
    ids=["missing", "folder", "binary", "empty", "control characters", "list", "words", "huge"],
)
def test_a_file_that_is_no_manifest_gets_one_sentence_and_exit_code_2(
    make: object, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.yaml"
    make(path)  # type: ignore[operator]
    with pytest.raises(SystemExit) as exit_:
        main(["plan", str(path)])
    assert exit_.value.code == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_the_generated_files_are_up_to_date() -> None:
    assert main(["generate", "--check", "--root", str(ROOT)]) == 0


def test_a_generated_file_that_differs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--root", str(tmp_path)]) == 0
    assert main(["generate", "--check", "--root", str(tmp_path)]) == 0
    (tmp_path / "crds" / "incidents.yaml").write_text("x")
    capsys.readouterr()
    assert main(["generate", "--check", "--root", str(tmp_path)]) == 1
    assert "incidents.yaml" in capsys.readouterr().err
