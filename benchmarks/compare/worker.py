"""One contender's process: does the task of its command line and prints what it measured as one line of JSON."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.compare.task import Task

_IN_PROCESS = ("codec", "threads")


def main(argument: str) -> None:
    """Loads the contender and lets it work."""
    given = json.loads(argument)
    task = Task(**given)
    measured = verbs_of(task.contender, task.verb)[task.verb](task)
    print(json.dumps(measured), flush=True)


def verbs_of(contender: str, verb: str) -> dict[str, Callable[[Task], dict[str, Any]]]:
    """The verbs of the contender's module that has this one."""
    part = "_codec" if verb in _IN_PROCESS else ""
    name = f"benchmarks.compare.contenders.{contender.replace('-', '_')}{part}"
    verbs: dict[str, Callable[[Task], dict[str, Any]]] = importlib.import_module(name).VERBS
    return verbs


if __name__ == "__main__":
    main(sys.argv[1])
