"""Finds the Java and Maven programs, and says in one line what is missing."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.brokers.failures import BrokerError

OLDEST_JAVA = 17


@cache
def find_java(program: str = "java") -> str:
    """The path of `java` or `javac`, of JAVA_HOME first, then of PATH; older than 17 is refused."""
    home = os.environ.get("JAVA_HOME")
    in_home = Path(home, "bin", program) if home else None
    path = str(in_home) if in_home and in_home.exists() else shutil.which(program)
    if path is None:
        raise BrokerError(f"{program} is missing: real Kafka needs a JDK of Java {OLDEST_JAVA} or newer (`make java`)")
    found = _major_version(path)
    if found < OLDEST_JAVA:
        raise BrokerError(f"{path} is Java {found}, real Kafka needs {OLDEST_JAVA} or newer (`make java`)")
    return path


@cache
def find_maven() -> str:
    """The path of `mvn`."""
    path = shutil.which("mvn")
    if path is None:
        raise BrokerError("mvn is missing: Maven resolves real Kafka (`make java` installs it where it may)")
    return path


def _major_version(path: str) -> int:
    said = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=False)
    match = re.search(r'(?:version "|javac )(\d+)(?:\.(\d+))?', said.stderr + said.stdout)
    if match is None:
        raise BrokerError(f"{path} -version says nothing of a version: {said.stderr or said.stdout!r}")
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first
