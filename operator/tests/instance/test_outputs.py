"""What an instance says came twice, when it sends anew what an earlier life may have sent."""

from __future__ import annotations

from pathlib import Path

from understudy.instance.timeline import TakeOver
from understudy.process.clock import now_ms
from understudy.protocol import commands as do
from understudy.protocol.ids import Seq

from .in_process import InProcessJob, until


def test_only_the_output_of_input_that_the_earlier_life_had_processed_counts_as_duplicated(
    tmp_path: Path,
) -> None:
    running = InProcessJob("{mode: upstreamBackup}", tmp_path)
    try:
        first = running.instances["first-0"]
        with first.context.lock:
            first.context.story.take_over = TakeOver("first-9", "it is gone")
            first.context.story.primary_positions = {"numbers": 50}
            first.shell.outputs.number(do.Number("first", Seq(0), None, as_new=True))
        running.surroundings.set_start_time(now_ms() - 1_000)
        until(lambda: len(running.reader.rows) > 100)
        assert first.context.story.take_over.duplicated == len([n for n in range(50) if n % 3])
    finally:
        running.close()
