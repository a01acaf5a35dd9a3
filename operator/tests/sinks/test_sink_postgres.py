"""Rows and the position in one transaction, on a real PostgreSQL; `psql` is the reader."""

from __future__ import annotations

import datetime
import decimal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.instance.in_process import InProcessJob
from tests.model.manifests import job as parsed
from tests.model.manifests import manifest
from tests.sinks.killed_sink import HA, assert_exact, kill_often
from tests.sinks.stopped_sink import TABLES
from tests.sinks.tables import SECRETS, SINK, query, table_of
from tests.streams.rows import rows
from understudy.process.secrets import NoSecret, read_secret
from understudy.sinks.port import Life, Superseded
from understudy_lab.postgres import Server
from understudy_lab.verify.reading import read_table
from understudy_lab.verify.rows import Torn, rows_of

pytestmark = pytest.mark.database
OPERATOR = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server.of_debian()
    try:
        made.start()
        yield made
    finally:
        made.remove()


@pytest.fixture(autouse=True)
def secrets(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "secrets"
    server.write_secret(folder / "db")
    monkeypatch.setenv(SECRETS, str(folder))
    yield folder
    query("DROP TABLE IF EXISTS rows, understudy_positions, mine")


def seqs(table: str = "rows") -> list[int]:
    return [int(line) for line in query(f"SELECT _seq FROM {table} ORDER BY _seq").splitlines()]


def test_rows_and_position_are_there_when_the_commit_returns(tmp_path: Path) -> None:
    table = table_of(tmp_path, Life())
    table.write(rows(0, 5))
    assert (table.next, query("SELECT to_regclass('rows')")) == (0, "")
    table.commit()
    assert (table.next, seqs()) == (5, [0, 1, 2, 3, 4])
    assert query("SELECT next FROM understudy_positions") == "5"


def test_the_next_life_continues_behind_the_position(tmp_path: Path) -> None:
    first = table_of(tmp_path, Life("a", 1))
    assert first.age_ms is None
    first.write(rows(0, 5))
    first.commit()
    second = table_of(tmp_path, Life("a", 2))
    assert (second.next, second.age_ms is not None) == (5, True)
    second.write(rows(5, 7))
    second.commit()
    assert seqs() == list(range(7))


def test_what_was_skipped_is_not_asked_for_again(tmp_path: Path) -> None:
    table_of(tmp_path, Life()).skip(8)
    assert table_of(tmp_path, Life()).next == 8


def test_a_life_that_was_superseded_commits_nothing(tmp_path: Path) -> None:
    earlier = table_of(tmp_path, Life("a", 1))
    earlier.write(rows(0, 5))
    later = table_of(tmp_path, Life("a", 2))
    with pytest.raises(Superseded, match="life 2 of the sink writes"):
        earlier.commit()
    with pytest.raises(Superseded):
        earlier.check()
    with pytest.raises(Superseded):
        table_of(tmp_path, Life("a", 1))
    later.write(rows(0, 3))
    later.commit()
    assert seqs() == [0, 1, 2]


def test_a_process_that_is_started_again_in_the_same_life_supersedes_the_one_before(tmp_path: Path) -> None:
    earlier, later = table_of(tmp_path, Life("a", 1)), table_of(tmp_path, Life("a", 1))
    earlier.write(rows(0, 5))
    with pytest.raises(Superseded, match="another process of life 1"):
        earlier.commit()
    later.write(rows(0, 3))
    later.commit()
    assert seqs() == [0, 1, 2]


def test_another_job_begins_at_its_own_position(tmp_path: Path) -> None:
    for job in ("a", "b"):
        table = table_of(tmp_path / job, Life())
        table.write(rows(0, 2))
        table.commit()
    assert query("SELECT count(*), count(DISTINCT _job) FROM rows") == "4|2"


def test_a_server_that_crashes_costs_nothing_but_time(tmp_path: Path, server: Server) -> None:
    table = table_of(tmp_path, Life())
    table.write(rows(0, 5))
    table.commit()
    server.stop()
    table.write(rows(5, 9))
    committing = threading.Thread(target=table.commit)
    committing.start()
    committing.join(1.5)
    assert committing.is_alive()
    server.start()
    committing.join(60)
    assert seqs() == list(range(9))


def test_a_sink_that_is_asked_to_stop_does_not_wait_for_a_server_that_is_away(
    tmp_path: Path, server: Server
) -> None:
    table = table_of(tmp_path, Life())
    table.write(rows(0, 5))
    server.stop()
    try:
        table.stop()
        with pytest.raises(OSError, match="while the database was away"):
            table.commit()
    finally:
        server.start()


def test_values_of_every_type_are_what_they_were(tmp_path: Path) -> None:
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 600, datetime.UTC)
    columns = {
        "_seq": pa.array([0, 1]),
        "_ts": pa.array([at, at]),
        't"': pa.array(['"é,\n\\N', None]),
        "empty": pa.array(["", None]),
        "double": pa.array([0.1, None]),
        "nan": pa.array([float("nan"), float("-inf")]),
        "at": pa.array([at, None]),
        "d": pa.array([decimal.Decimal("1.50"), None]),
        "x": pa.array([b"\x00\xff", None]),
        "l": pa.array([[1, None], None]),
        "s": pa.array([{"a": "é"}, None]),
        "b": pa.array([True, None]),
        "n": pa.array([2**62, None]),
        "day": pa.array([at.date(), None]),
    }
    table = table_of(tmp_path, Life())
    table.write(pa.table(columns))
    table.commit()
    same = """t"" = '"é,' || chr(10) || '\\N' AND empty = '' AND double = 0.1 AND nan = 'NaN' AND d = 1.50
        AND at = '2026-01-02 03:04:05.0006+00' AND x = '\\x00ff' AND l = '[1, null]' AND s->>'a' = 'é'
        AND b AND n = 4611686018427387904 AND day = '2026-01-02'""".replace('t""', '"t"""')
    assert query(f"SELECT count(*) FROM rows WHERE _seq = 0 AND {same}") == "1"
    nulls = 'num_nulls("t""", empty, double, at, d, x, l, s, b, n, day) = 11 AND nan = \'-Infinity\''
    assert query(f"SELECT count(*) FROM rows WHERE _seq = 1 AND {nulls}") == "1"


def test_verify_reads_the_rows_of_its_own_job_as_lines_of_json_would_be(
    tmp_path: Path, secrets: Path
) -> None:
    at = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    made = pa.table({"_seq": [0, 1], "at": [at, None], "l": [[1, None], None], "d": [0.1, float("nan")]})
    for job in ("a", "b"):
        table = table_of(tmp_path / job, Life())
        table.write(made)
        table.commit()
    (target,) = (sink.postgres for sink in parsed(manifest(sinks=SINK)).sinks)
    assert target is not None
    assert read_table(target, secrets, str(tmp_path / "b")) == rows_of(made)
    assert read_table(target, secrets, "another") == []
    query("ALTER TABLE rows DROP COLUMN _job")
    assert read_table(target, secrets, str(tmp_path / "b")) is None
    (tmp_path / "db.properties").write_text("host=127.0.0.1\nport=1\nusername=test\n")
    with pytest.raises(Torn, match="can't be read"):
        read_table(target, tmp_path, "b")


def test_a_table_of_the_users_needs_no_columns_of_ours(tmp_path: Path) -> None:
    query("CREATE TABLE mine (v bigint, more text DEFAULT 'x')")
    table = table_of(tmp_path, Life(), "- {name: out, input: beats, postgres: {secret: db, table: mine}}")
    table.write(rows(0, 2))
    table.commit()
    assert query("SELECT v, more FROM mine ORDER BY v") == "0|x\n10|x"


def test_what_the_database_refuses_ends_the_sink_with_its_words(tmp_path: Path) -> None:
    query("CREATE TABLE mine (w bigint)")
    table = table_of(tmp_path, Life(), "- {name: out, input: beats, postgres: {secret: db, table: mine}}")
    table.write(rows(0, 2))
    with pytest.raises(OSError, match='column "v"'):
        table.commit()
    assert query("SELECT next FROM understudy_positions") == "0"


def test_a_secret_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSecret, match="there is no Secret other"):
        read_secret(tmp_path, "other")
    (tmp_path / "other.properties").write_text("# comment\nhost = h\n")
    assert read_secret(tmp_path, "other") == {"host": "h"}


@pytest.mark.slow
@pytest.mark.parametrize("context", TABLES)
def test_a_life_that_was_stopped_at_any_line_changes_nothing_when_it_goes_on(
    tmp_path: Path, context: str
) -> None:
    """See `stopped_sink.py`. One that was stopped in a transaction holds the lock of the position."""
    command = [sys.executable, "-m", "tests.sinks.stopped_sink", context, str(tmp_path)]
    done = subprocess.run(command, cwd=OPERATOR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) > 20, "it was stopped at hardly any line"


def test_rows_are_exact_after_kills(tmp_path: Path, secrets: Path) -> None:
    running = InProcessJob(HA, tmp_path)
    running.surroundings.set_job("one", secrets)
    running.reader.stop()
    running.begin()

    def count() -> int:
        made = query("SELECT to_regclass('alerts')")
        return int(query("SELECT count(*) FROM alerts")) if made else 0

    try:
        kill_often(running, tmp_path, "postgres: {secret: db, table: alerts}", count)
    finally:
        running.close()
    lines = query("SELECT _seq, n FROM alerts ORDER BY _seq").splitlines()
    assert_exact([(int(seq), int(n)) for seq, _, n in (line.partition("|") for line in lines)])
