"""A process that is stopped at one line of a sink's log, wakes beside its successor, and may do no harm. Run
by a test.

For each line at which it can be stopped, from the first on:

1. A child plays the context (SCENES), and stops itself by SIGSTOP at that line. Its tuples have `by` =
   "stopped".
2. A successor takes the folder, and writes what follows in two writes that count.
3. The child goes on by SIGCONT, to its end.
4. The files hold what they held before, and the successor goes on.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tests.sinks.tables import rows_in, table_of
from understudy.sinks import database, delta, fence, files, manifest, parquet, postgres
from understudy.sinks.delta import DeltaLog
from understudy.sinks.files import LineLog
from understudy.sinks.parquet import ParquetLog
from understudy.sinks.port import Life, Superseded, Writer

MODULES = (fence, files, manifest, parquet, delta, database, postgres)
TRACED = {module.__file__ for module in MODULES if module.__file__}
PURE = {"<genexpr>", "<dictcomp>"}  # a stop in there is like one before or behind it
WROTE, SUPERSEDED, FAILED = 0, 10, 11
STOPPED, SUCCESSOR = Life("run", 1), Life("run", 2)
SMALL = 100  # bytes of a part: the next write begins a new one


def rows(start: int, stop: int, by: str) -> pa.Table:
    return pa.table({"_seq": range(start, stop), "by": [by] * (stop - start), "n": range(start, stop)})


def plain_write(folder: Path, trace: Callable[[], None]) -> None:
    log = LineLog(folder, STOPPED)
    log.write(rows(0, 5, "stopped"))
    trace()
    log.write(rows(5, 9, "stopped"))


def write_in_pieces(folder: Path, trace: Callable[[], None]) -> None:
    """The kernel takes only a part of it at first. A stop behind the second attempt comes after the error."""
    log = LineLog(folder, STOPPED)
    log.write(rows(0, 5, "stopped"))
    trace()
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.path.stat().st_size + 50, resource.RLIM_INFINITY))
    log.write(rows(5, 9, "stopped"))


def write_of_a_new_part(folder: Path, trace: Callable[[], None]) -> None:
    log = LineLog(folder, STOPPED, SMALL)
    log.write(rows(0, 5, "stopped"))
    trace()
    log.write(rows(5, 9, "stopped"))


def start(folder: Path, trace: Callable[[], None]) -> None:
    LineLog(folder, STOPPED).write(rows(0, 5, "stopped"))
    trace()
    LineLog(folder, STOPPED).write(rows(5, 9, "stopped"))


def parquet_file(folder: Path, trace: Callable[[], None]) -> None:
    log = ParquetLog(folder, STOPPED)
    put(log, rows(0, 5, "stopped"))
    trace()
    put(log, rows(5, 9, "stopped"))


def parquet_start(folder: Path, trace: Callable[[], None]) -> None:
    """It finds a file whose line is missing."""
    put(ParquetLog(folder, STOPPED), rows(0, 5, "stopped"))
    lines = folder / "_manifest-00000.jsonl"
    put(ParquetLog(folder, STOPPED), rows(5, 7, "stopped"))
    os.truncate(lines, lines.read_bytes().index(b"\n") + 1)
    trace()
    log = ParquetLog(folder, STOPPED)
    if log.next < 9:
        put(log, rows(log.next, 9, "stopped"))
    log.check()


def postgres_write(folder: Path, trace: Callable[[], None]) -> None:
    log = table_of(folder, STOPPED)
    put(log, rows(0, 5, "stopped"))
    trace()
    put(log, rows(5, 9, "stopped"))


def postgres_start(folder: Path, trace: Callable[[], None]) -> None:
    put(table_of(folder, STOPPED), rows(0, 5, "stopped"))
    trace()
    log = table_of(folder, STOPPED)
    put(log, rows(log.next, max(log.next + 1, 9), "stopped"))
    log.check()


def delta_write(folder: Path, trace: Callable[[], None]) -> None:
    log = DeltaLog(folder, STOPPED, "sink")
    put(log, rows(0, 5, "stopped"))
    trace()
    put(log, rows(5, 9, "stopped"))


def delta_start(folder: Path, trace: Callable[[], None]) -> None:
    put(DeltaLog(folder, STOPPED, "sink"), rows(0, 5, "stopped"))
    trace()
    log = DeltaLog(folder, STOPPED, "sink")
    put(log, rows(log.next, max(log.next + 1, 9), "stopped"))


def delta_first(folder: Path, trace: Callable[[], None]) -> None:
    """There is no table yet."""
    trace()
    log = DeltaLog(folder, STOPPED, "sink")
    put(log, rows(log.next, max(log.next + 1, 9), "stopped"))


def put(log: Writer, table: pa.Table) -> None:
    log.write(table)
    log.commit()


SCENES = {
    context.__name__: context
    for context in (
        *(plain_write, write_in_pieces, write_of_a_new_part, start),
        *(parquet_file, parquet_start),
        *(delta_write, delta_start, delta_first),
    )
}
TABLES = {context.__name__: context for context in (postgres_write, postgres_start)}


def stop_at(line: int) -> Callable[[], None]:
    passed = 0

    def look(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if frame.f_code.co_filename not in TRACED or frame.f_code.co_name in PURE:
            return None
        passed += event == "line"
        if event == "line" and passed == line:
            os.kill(os.getpid(), signal.SIGSTOP)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return look

    return lambda: sys.settrace(look)


def child(context: str, folder: Path, line: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        (SCENES | TABLES)[context](folder, stop_at(line))
        code = WROTE
    except Superseded:
        code = SUPERSEDED
    except OSError as error:
        print(error)
        code = FAILED
    finally:
        sys.settrace(None)
    os._exit(code)


def held(context: str, folder: Path) -> list[tuple[int, str]]:
    if context in TABLES:
        return rows_in(folder)
    if context.startswith("delta"):
        table = DeltaTable(str(folder)).to_pyarrow_table().sort_by("_seq")
        return list(zip(table["_seq"].to_pylist(), table["by"].to_pylist(), strict=True))
    if found := sorted(folder.glob("*.parquet")):
        table = pa.concat_tables(pq.read_table(path) for path in found)
        assert table.num_rows == list(manifest.entries(folder))[-1].next, "a file is not in the manifest"
        return list(zip(table["_seq"].to_pylist(), table["by"].to_pylist(), strict=True))
    text = "".join(path.read_text() for path in sorted(folder.glob("*.jsonl")))
    return [(row["_seq"], row["by"]) for row in map(json.loads, text.splitlines())]


def log_of(context: str, folder: Path, life: Life) -> Writer:
    if context in TABLES:
        return table_of(folder, life)
    if context.startswith("delta"):
        return DeltaLog(folder, life, "sink")
    if context.startswith("parquet"):
        return ParquetLog(folder, life)
    return LineLog(folder, life, SMALL if context == write_of_a_new_part.__name__ else 1_000_000)


def play(context: str, folder: Path, line: int) -> bool:
    """False when the child came to its end before that line. The successor is a process of its own, too: a
    child of a process that has used Delta can't use it."""
    pid = child(context, folder, line)
    if not os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]):
        return False
    ended, tell = os.pipe()
    beside = os.fork()
    if not beside:
        try:
            succeed(context, folder, line, pid, ended)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os.kill(pid, signal.SIGCONT)
            os._exit(1)
    os.write(tell, bytes([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])]))
    assert not os.waitpid(beside, 0)[1], f"line {line}"
    os.close(tell)
    os.close(ended)
    return True


def succeed(context: str, folder: Path, line: int, pid: int, ended: int) -> None:
    later = log_of(context, folder, SUCCESSOR)
    began = later.next
    put(later, rows(began, 15, "successor"))
    put(later, rows(15, 20, "successor"))
    before = held(context, folder)
    os.kill(pid, signal.SIGCONT)
    (code,) = os.read(ended, 1)
    allowed = (WROTE, SUPERSEDED, FAILED) if context == write_in_pieces.__name__ else (WROTE, SUPERSEDED)
    assert code in allowed, f"line {line}: the one that was stopped ended with {code}"
    assert code != WROTE or began == 9, f"line {line}: it counts tuples that its successor did not find"
    assert held(context, folder) == before, f"line {line}: {before} became {held(context, folder)}"
    put(later, rows(20, 25, "successor"))
    kept = [(n, "stopped" if n < began else "successor") for n in range(25)]
    assert held(context, folder) == kept, f"line {line}: {held(context, folder)}"
    last = log_of(context, folder, Life("run", 3))
    assert last.next == 25
    last.close()


def main(context: str, folder: Path) -> None:
    line = 1
    while play(context, folder / str(line), line):
        line += 1
    print(line - 1)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
