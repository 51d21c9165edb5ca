"""One contender's process: does the task of its command line and prints what it measured as one line of JSON."""

from __future__ import annotations

import importlib
import json
import sys

from benchmarks.compare.task import Task


def main(argument: str) -> None:
    """Loads the contender and lets it work."""
    given = json.loads(argument)
    task = Task(**given)
    module = importlib.import_module(f"benchmarks.compare.contenders.{task.contender.replace('-', '_')}")
    measured = module.VERBS[task.verb](task)
    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
