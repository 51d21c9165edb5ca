"""Where a contender's runs come from: a process that imports its module once, then forks a process for each task.

    python -m benchmarks.compare.worker MODULE

Reads tasks as lines of JSON until stdin ends and answers each with one: {"measured": {...}}, or {"error": TEXT} with
the end of what the process wrote. So each run has a process of its own which has imported the client and done nothing
else, and none of them pays for the imports again. An alarm ends a process that takes longer than LIMIT_S.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from tempfile import TemporaryFile
from typing import Any, NoReturn, TextIO

from benchmarks.compare.task import Task

LIMIT_S = 120
_IN_PROCESS = ("codec", "threads")
_SHOWN = 800

Verbs = Mapping[str, Callable[[Task], dict[str, Any]]]


def module_of(contender: str, verb: str) -> str:
    """The name of the contender's module that has this verb."""
    return contender.replace("-", "_") + ("_codec" if verb in _IN_PROCESS else "")


def verbs_of(module: str) -> Verbs:
    """The verbs of a contender's module."""
    verbs: Verbs = importlib.import_module(f"benchmarks.compare.contenders.{module}").VERBS
    return verbs


def run_forked(verbs: Verbs, given: Mapping[str, Any], limit_s: int = LIMIT_S) -> dict[str, Any]:
    """Does one task in a process of its own; the answer."""
    with TemporaryFile("w+") as result, TemporaryFile("w+") as said:
        started = time.perf_counter()
        child = os.fork()
        if not child:
            _do_and_exit(verbs, given, limit_s, result, said)
        _, status, used = os.wait4(child, 0)
        wall_s = time.perf_counter() - started
        code = os.waitstatus_to_exitcode(status)
        if code:
            said.seek(0)
            return {"error": f"{_ended(code, limit_s)} after {wall_s:.1f} s: {said.read().strip()[-_SHOWN:]}"}
        result.seek(0)
        whole = {"process_cpu_s": used.ru_utime + used.ru_stime, "process_wall_s": wall_s}
        return {"measured": {**json.load(result), **whole}}


def _ended(code: int, limit_s: int) -> str:
    return f"ended by its limit of {limit_s} s" if code == -signal.SIGALRM else f"exit code {code}"


def _do_and_exit(verbs: Verbs, given: Mapping[str, Any], limit_s: int, result: TextIO, said: TextIO) -> NoReturn:
    """The forked process. It collects garbage first, so that pages are shared no more when measuring begins."""
    signal.alarm(limit_s)
    code = 1
    try:
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        for descriptor in (1, 2):
            os.dup2(said.fileno(), descriptor)
        gc.collect()
        task = Task(**given)
        json.dump(verbs[task.verb](task), result)
        result.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def main(module: str) -> None:
    """Serves."""
    verbs = verbs_of(module)
    for line in sys.stdin:
        print(json.dumps(run_forked(verbs, json.loads(line))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
