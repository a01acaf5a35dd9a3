"""What this machine must have."""

from __future__ import annotations

import os
import shutil


def lacking() -> str | None:
    """What Spark needs and is not there, with what to do about it."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, but there is no bin/java in it" if home else "there is no java on PATH"
        return f"Spark needs Java 17 or later and {where}: install openjdk-17-jre-headless, or set JAVA_HOME"
    if not os.path.isdir("/proc/self"):
        return "local runs need Linux: they find the processes they started in /proc"
    return None
