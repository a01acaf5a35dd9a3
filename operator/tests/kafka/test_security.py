"""The settings of TLS and login come from a Secret, and are nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.kafka.security import security_of
from understudy.process.secrets import NoSecret

WANTED = {"security.protocol": "SASL_SSL", "sasl.password": "a=b", "ssl.ca.pem": "-----BEGIN\nabc\n-----END"}


def test_without_a_secret_there_are_no_settings(tmp_path: Path) -> None:
    assert security_of(tmp_path, None) == {}


def test_a_mounted_secret_has_a_file_for_each_key(tmp_path: Path) -> None:
    folder, data = tmp_path / "kafka", tmp_path / "kafka" / "..data"
    data.mkdir(parents=True)  # as the kubelet makes it
    for key, value in WANTED.items():
        (data / key).write_text(f"{value}\n")
        (folder / key).symlink_to(data / key)
    assert security_of(tmp_path, "kafka") == WANTED


def test_a_local_run_may_have_a_file_of_properties(tmp_path: Path) -> None:
    (tmp_path / "kafka.properties").write_text("# ours\n\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n")
    assert security_of(tmp_path, "kafka") == {"security.protocol": "SASL_SSL", "sasl.password": "a=b"}


@pytest.mark.parametrize(
    "key",
    [
        "isolation.level",
        "enable.idempotence",
        "bootstrap.servers",
        "plugin.library.paths",
        "ssl.engine.location",
        "sasl.kerberos.kinit.cmd",
    ],
)
def test_a_secret_can_change_no_promise_and_run_no_program(tmp_path: Path, key: str) -> None:
    (tmp_path / "kafka.properties").write_text(f"{key}=x\n")
    with pytest.raises(NoSecret, match=f"the key {key}; write client properties that begin with"):
        security_of(tmp_path, "kafka")


def test_a_secret_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSecret, match="there is no Secret kafka"):
        security_of(tmp_path, "kafka")
