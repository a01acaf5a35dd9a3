"""Sinks that write to a table of a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.model.manifests import job, manifest
from understudy.process.secrets import read_secret
from understudy.sinks.port import Life, Opening
from understudy.sinks.postgres import PostgresTable

SECRETS = "UNDERSTUDY_TEST_SECRETS"
"""The folder of the Secret `db`."""

SINK = "- {name: out, input: beats, postgres: {secret: db, table: public.rows}}"


def table_of(folder: Path, life: Life, sink: str = SINK) -> PostgresTable:
    """`folder`: stands for the identity of the job."""
    found = job(manifest(sinks=sink))
    opening = Opening(
        found, found.sinks[0], folder, life, identity=str(folder), secrets=Path(os.environ[SECRETS])
    )
    (target,) = (s.postgres for s in found.sinks)
    assert target is not None
    return PostgresTable(target, opening)


def rows_in(folder: Path) -> list[tuple[int, str]]:
    """`_seq` and `by` of the rows of a job, as psql prints them."""
    text = query(f"SELECT _seq, by FROM rows WHERE _job = '{folder}' ORDER BY _seq")
    return [(int(seq), by) for seq, _, by in (line.partition("|") for line in text.splitlines())]


def query(sql: str) -> str:
    secret = read_secret(Path(os.environ[SECRETS]), "db")
    address = f"host={secret['host']} port={secret['port']} user=test dbname=postgres sslmode=disable"
    command = ["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, address]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout.strip()
