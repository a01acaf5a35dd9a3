"""One Kafka broker in KRaft mode: a Java process on loopback, with a data folder that outlives it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from understudy_lab.broker.jars import NoBroker, folder

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
QUICK: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")  # what starts a JVM fast
PROPERTIES: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "num.partitions": "1",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",  # records of tests have made-up times
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "1000",
    "log.cleaner.backoff.ms": "500",
    "log.segment.delete.delay.ms": "0",
}


class Broker:
    """`start` after `stop` or `kill` goes on with the same data on the same port."""

    def __init__(self, data: Path, memory: str = "512m", **properties: str) -> None:
        """More properties as keywords, with `_` for the dots. Raises NoBroker."""
        self.data, self._memory = data, memory
        self._port, self._controller = free_ports(2)
        self._more = {key.replace("_", "."): value for key, value in properties.items()}
        self._java = _java()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """As `bootstrap.servers`."""
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker does not run"
        return self._process.pid

    def start(self) -> None:
        """Returns when it answers. Raises NoBroker with the end of its log."""
        if not (self.data / "server.properties").exists():
            self._format()
        log = (self.data / "log").open("ab")
        command = self.java("kafka.Kafka", f"-Xmx{self._memory}", *QUICK)
        self._process = subprocess.Popen(
            [*command, str(self.data / "server.properties")], stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        self._await()

    def stop(self) -> None:
        """In good order: it writes down what it has."""
        self.signal(signal.SIGTERM)
        self._leave(STOP_SECONDS)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._leave(STOP_SECONDS)

    def freeze(self) -> None:
        """It neither answers nor closes its connections, until `thaw`."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def remove(self) -> None:
        """End it, however it is, and delete its data."""
        if self.runs:
            self.kill()
        shutil.rmtree(self.data, ignore_errors=True)

    def java(self, main: str, *options: str) -> list[str]:
        """The command that runs a class out of the broker's jars."""
        return [self._java, *options, "-cp", f"{folder()}/*", main]

    def _format(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        listeners = f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self._controller}"
        own = {
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self._controller}",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "log.dirs": str(self.data / "topics"),
        }
        path = self.data / "server.properties"
        settings = {**PROPERTIES, **own, **self._more}
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        staged = self.data / "staged.properties"
        staged.write_text(text)
        command = self.java("kafka.tools.StorageTool", *QUICK)
        name = ["-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(staged)]
        done = subprocess.run(
            [*command, "format", "--standalone", *name], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise NoBroker(f"its storage could not be formatted: {done.stdout[-500:]}{done.stderr[-1000:]}")
        staged.rename(path)

    def _await(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if not self.runs:
                break
            if _listens(self._port) and _answers(self.address):
                return
            time.sleep(0.1)
        end = (self.data / "log").read_text(errors="replace")[-2000:]
        raise NoBroker(f"the broker did not start in {START_SECONDS:.0f} s: {end}")

    def _leave(self, seconds: float) -> None:
        assert self._process is not None
        self._process.wait(seconds)
        self._process = None


def free_ports(count: int) -> list[int]:
    """On loopback; all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    if found is None:
        raise NoBroker("a broker needs Java 17, and there is none on PATH")
    return found


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _answers(address: str) -> bool:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    try:
        return bool(admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return False
