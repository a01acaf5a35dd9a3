"""In continuous integration nothing is skipped in silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"
SKIPS = {
    "by a mark": "import pytest\n@pytest.mark.skipif(True, reason='no disk here')\ndef test_it(): pass\n",
    "by a fixture": "import pytest\n@pytest.fixture\ndef d(): pytest.skip('no disk here')\n"
    "def test_it(d): pass\n",
    "by itself": "import pytest\ndef test_it(): pytest.skip('no disk here')\n",
    "with its module": "import pytest\npytest.skip('no disk here', allow_module_level=True)\n"
    "def test_it(): pass\n",
}


def ended(folder: Path, text: str, ci: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_it.py").write_text(f"{text}\ndef test_another(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), str(folder)]
    environment = {**os.environ, "CI": ci}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("text", SKIPS.values(), ids=SKIPS)
def test_a_skip_without_a_known_reason_is_a_failure_there(tmp_path: Path, text: str) -> None:
    code, said = ended(tmp_path, text, "true")
    assert code != 0
    assert "skipped in continuous integration" in said
    assert "no disk here" in said


@pytest.mark.parametrize("text", [SKIPS["by a mark"]])
def test_elsewhere_it_is_a_skip(tmp_path: Path, text: str) -> None:
    assert ended(tmp_path, text, "")[0] == 0


def test_a_test_that_is_expected_to_fail_is_no_skip(tmp_path: Path) -> None:
    text = "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_it(): assert False\n"
    assert ended(tmp_path, text, "true")[0] == 0
