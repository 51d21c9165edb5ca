"""Constants of the classes of any release: error codes, record types, states."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.brokers import BrokerError, find_release
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_release

_PROGRAM = Path(__file__).parent / "java_any" / "Constants.java"
_WITHIN_S = 120


class Constant(NamedTuple):
    """A constant's number and name; the two flags of an error, None of anything else."""

    number: int
    name: str
    retriable: bool | None = None
    stale_metadata: bool | None = None


def constants(release: str, *classes: str) -> dict[str, list[Constant]]:
    """By class, in the class's own order."""
    jars = resolve_release(find_release(release))
    command = [find_java(), "-cp", f"{jars}/*", str(_PROGRAM), *classes]
    run = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    if run.returncode != 0:
        raise BrokerError(f"the constants of {release} could not be read:\n{run.stdout}{run.stderr}")
    found: dict[str, list[Constant]] = {name: [] for name in classes}
    for line in run.stdout.splitlines():
        name, number, constant, *flags = line.split("\t")
        found[name].append(Constant(int(number), constant, *(flag == "true" for flag in flags)))
    return found
