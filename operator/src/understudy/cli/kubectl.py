"""How the plugin reads and changes the cluster: by kubectl, with the context and credentials in use."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Final

Json = dict[str, Any]

NOT_THERE: Final = (
    "kubectl is not on the PATH. Install it (https://kubernetes.io/docs/tasks/tools) and try again"
)
JOBS: Final = "streamjobs.understudy.dev"
INCIDENTS: Final = "incidents.understudy.dev"
DRILLS: Final = "failoverdrills.understudy.dev"
MIGRATIONS: Final = "migrations.understudy.dev"


class NoAnswer(Exception):
    """kubectl could not do what it was asked; its own words say why."""


class NoSuchJob(Exception):
    """The job, or a part of it, does not exist."""


class Kubectl:
    def __init__(self, namespace: str | None = None, context: str | None = None) -> None:
        self._common = ["kubectl"]
        self._common += ["--namespace", namespace] if namespace else []
        self._common += ["--context", context] if context else []

    def job(self, name: str) -> Json:
        try:
            return self.get(JOBS, name)
        except NoSuchJob as error:
            hint = "`kubectl get streamjobs --all-namespaces` lists all jobs; -n chooses the namespace"
            raise NoSuchJob(f"{error}\n{hint}") from error

    def get(self, kind: str, *arguments: str) -> Json:
        found: Json = json.loads(self.read("get", kind, *arguments, "-o", "json"))
        return found

    def list(self, kind: str, *arguments: str) -> list[Json]:
        found: list[Json] = self.get(kind, *arguments)["items"]
        return found

    def read(self, *arguments: str) -> str:
        return self._run(None, *arguments)

    def create(self, body: str) -> None:
        self._run(body, "create", "-f", "-")

    def annotate(self, kind: str, name: str, annotation: str) -> None:
        self._run(None, "annotate", "--overwrite", kind, name, annotation)

    def kill(self, pod: str) -> None:
        self._run(None, "delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")

    def _run(self, given: str | None, *arguments: str) -> str:
        command = [*self._common, *arguments]
        try:
            done = subprocess.run(
                command, input=given, capture_output=True, text=True, errors="replace", check=False
            )
        except FileNotFoundError as error:
            raise NoAnswer(NOT_THERE) from error
        if done.returncode:
            raise (NoSuchJob if "NotFound" in done.stderr else NoAnswer)(done.stderr.strip())
        return done.stdout

    def attach(self, *arguments: str) -> int:
        """The command with the terminal of the plugin. Its exit code."""
        try:
            code = subprocess.run([*self._common, *arguments], check=False).returncode
        except FileNotFoundError as error:
            raise NoAnswer(NOT_THERE) from error
        return code if code >= 0 else 128 - code  # a signal, as a shell says it: 141 if nobody reads on

    def follow(self, *arguments: str) -> subprocess.Popen[str]:
        """The command's output, line by line."""
        try:
            return subprocess.Popen(
                [*self._common, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
            )
        except FileNotFoundError as error:
            raise NoAnswer(NOT_THERE) from error
