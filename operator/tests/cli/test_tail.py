"""`kubectl understudy tail` follows a sink from one file to the next. Here: what it runs in the pod."""

from __future__ import annotations

import subprocess
from pathlib import Path

from understudy.cli.tailing import FOLLOW


def test_the_newest_part_is_followed_and_then_the_one_after_it(tmp_path: Path) -> None:
    (tmp_path / "part-00000.jsonl").write_text("0\n")
    (tmp_path / "part-00001.jsonl").write_text("1\n2\n3\n")
    command = ["sh", "-c", FOLLOW, "sh", str(tmp_path), "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as follower:
        assert follower.stdout is not None
        assert [follower.stdout.readline() for _ in range(2)] == ["2\n", "3\n"]
        with (tmp_path / "part-00001.jsonl").open("a") as file:
            file.write("4\n")
        assert follower.stdout.readline() == "4\n"
        (tmp_path / "part-00002.jsonl").write_text("5\n6\n")
        assert [follower.stdout.readline() for _ in range(2)] == ["5\n", "6\n"]
        follower.stdout.close()
        with (tmp_path / "part-00002.jsonl").open("a") as file:
            file.write("7\n")  # nobody listens
        follower.wait(30)
