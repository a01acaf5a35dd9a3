"""What this machine must have to run jobs, and what makes it faster."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def lacking() -> str | None:
    """What Spark needs and is missing, with advice."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, but there is no bin/java in it" if home else "there is no java on PATH"
        return f"Spark needs Java 17 or later and {where}: install openjdk-17-jre-headless, or set JAVA_HOME"
    if not os.path.isdir("/proc/self"):
        return "local runs need Linux: they find the processes they started in /proc"
    return None


def class_archive() -> Path:
    """Where the set-up leaves an archive of the classes that Spark loads: with it a start takes a third less
    time."""
    return Path(sys.prefix) / "spark.jsa"


def for_children() -> dict[str, str]:
    """The environment of a process that starts Java. Variables that the user set stay."""
    found = dict(os.environ)
    if class_archive().is_file():
        # No logging: Spark's launcher has another class path, can't use the archive, and would warn about it.
        found.setdefault(
            "JDK_JAVA_OPTIONS", f"-XX:SharedArchiveFile={class_archive()} -Xshare:auto -Xlog:disable"
        )
    return found


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))
