"""Constants of the classes of any release: error codes, record types, states, versions of APIs."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.brokers import BrokerError
from tests.oracle.compiling import program

_WITHIN_S = 120


class Constant(NamedTuple):
    """A constant's number and name; of an error its two flags, of an API its oldest and newest version."""

    number: int
    name: str
    more: tuple[str, ...] = ()


def constants(jars: Path, *classes: str) -> dict[str, list[Constant]]:
    """By class, in the class's own order. `jars` is a folder."""
    command = [*program("Constants", jars, named_classes=True), *classes]
    run = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    if run.returncode != 0:
        raise BrokerError(f"the constants in {jars} could not be read:\n{run.stdout}{run.stderr}")
    found: dict[str, list[Constant]] = {name: [] for name in classes}
    for line in run.stdout.splitlines():
        name, number, constant, *more = line.split("\t")
        found[name].append(Constant(int(number), constant, tuple(more)))
    return found
