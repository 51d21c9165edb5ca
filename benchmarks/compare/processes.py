"""Contenders run in processes of their own. Both ends of that are here.

Each contender's module has a parent process (`serve`) that imports it once and then forks a child for every task. So a
run starts in a process that has imported the client and done nothing else, and does not pay for imports. The
comparison (`Contenders`) sends the parent a task as a line of JSON; the answer is {"measured": {...}} or
{"error": TEXT}, with the end of what the child wrote. An alarm ends a child that takes longer than LIMIT_S.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, NoReturn, Self, TextIO

from benchmarks.compare.contenders.task import Task

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 240
_STOP_LIMIT_S = 10.0
_SHOWN = 800
_AIO_TASKS = ("aio_produce", "aio_consume", "aio_round_trip", "loop_stops")
_GROUP_TASKS = ("group_join", "group_consume", "group_read", "commits", "transactions", "subscribe_many")
_TABLE_TASKS = ("read_table", "write_table")
_MODULES = {
    "codec": "{}_codec",
    "threads": "{}_codec",
    "import_time": "package",
    "size": "package",
    **dict.fromkeys(_AIO_TASKS, "{}_aio"),
    **dict.fromkeys(_GROUP_TASKS, "{}_groups"),
    **dict.fromkeys(_TABLE_TASKS, "{}_tables"),
}


class ContenderError(Exception):
    """A process failed; the text has the end of what it wrote."""


def environment() -> dict[str, str]:
    """For contenders and brokers: this tree's kwire, and no variable that changes how Python runs.

    numpy, which pyarrow imports, starts threads of OpenBLAS that spin for tens of milliseconds: no client's work.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "OPENBLAS_NUM_THREADS": "1"}


class LineProcess:
    """A Python process that talks in lines over stdin and stdout; its stderr is kept for error messages."""

    def __init__(self, what: str, arguments: Sequence[str]) -> None:
        self._what = what
        self._stderr = TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            cwd=ROOT,
            env=environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def write_line(self, line: str) -> None:
        """Raises ContenderError when the process has ended."""
        try:
            print(line, file=self._stdin, flush=True)
        except BrokenPipeError:
            raise self._failure("ended") from None

    def read_line(self, limit_s: float) -> str:
        """Raises ContenderError when nothing comes in time, or the process ends."""
        ready, _, _ = select.select([self._stdout], [], [], limit_s)
        line = self._stdout.readline() if ready else ""
        if not line:
            raise self._failure("ended without an answer" if ready else f"did not answer for {limit_s:.0f} s")
        return line.strip()

    def _failure(self, how: str) -> ContenderError:
        return ContenderError(f"{self._what} {how}: {_end_of(self._stderr)}")

    def stop(self, *, terminate: bool = False) -> str:
        """Ends it by the end of its stdin (or SIGTERM), else by SIGKILL; returns the rest of what it wrote."""
        try:
            self._stdin.close()
        except BrokenPipeError:
            pass
        if terminate:
            self._process.terminate()
        try:
            self._process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._stderr, self._stdout:
            return self._stdout.read()


def _end_of(stream: TextIO) -> str:
    """The last of what was written; files are named from the tree's root, since data files are published."""
    stream.seek(0)
    return stream.read().strip().replace(f"{ROOT}{os.sep}", "")[-_SHOWN:]


class Contenders:
    """The parents of all contenders, started when first needed and stopped together. A context manager."""

    def __init__(self) -> None:
        self._parents: dict[str, LineProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for parent in self._parents.values():
            parent.stop()

    def run(self, task: Task) -> dict[str, Any]:
        """Runs a task in a process of its own; returns what it measured. Raises ContenderError."""
        module = module_of(task.contender, task.name)
        if module not in self._parents:
            command = f"from benchmarks.compare.processes import serve; serve({module!r})"
            self._parents[module] = LineProcess(f"the parent process of {module}", ["-c", command])
        parent = self._parents[module]
        try:
            parent.write_line(json.dumps(asdict(task)))
            answer = json.loads(parent.read_line(LIMIT_S + 60))
        except ContenderError:
            self._parents.pop(module).stop()
            raise
        if "error" in answer:
            raise ContenderError(answer["error"])
        measured: dict[str, Any] = answer["measured"]
        return measured


def module_of(contender: str, task: str) -> str:
    """The name of the module in `contenders/` that does that task for it."""
    return _MODULES.get(task, "{}").format(contender.replace("-", "_"))


def serve(module: str) -> None:
    """The parent process: answers each line of stdin with a line, until stdin ends."""
    contender = importlib.import_module(f"benchmarks.compare.contenders.{module}")
    getattr(contender, "prepare", lambda: None)()
    for line in sys.stdin:
        print(json.dumps(run_forked(contender, Task(**json.loads(line)))), flush=True)


def run_forked(contender: Any, task: Task, limit_s: int = LIMIT_S) -> dict[str, Any]:
    """Forks a child that runs the task; returns the answer."""
    with TemporaryFile("w+") as result, TemporaryFile("w+") as output:
        started = time.perf_counter()
        child = os.fork()
        if not child:
            _run_and_exit(contender, task, limit_s, result, output)
        _, status, used = os.wait4(child, 0)
        wall_s = time.perf_counter() - started
        code = os.waitstatus_to_exitcode(status)
        if code:
            how = f"exceeded its limit of {limit_s} s" if code == -signal.SIGALRM else f"exit code {code}"
            return {"error": f"{how} after {wall_s:.1f} s: {_end_of(output)}"}
        result.seek(0)
        whole = {"process_cpu_s": used.ru_utime + used.ru_stime, "process_wall_s": wall_s}
        return {"measured": {**json.load(result), **whole}}


def _run_and_exit(contender: Any, task: Task, limit_s: int, result: TextIO, output: TextIO) -> NoReturn:
    """The child. It collects garbage first, so that measuring does not pay for copies of shared pages."""
    signal.alarm(limit_s)
    code = 1
    try:
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
        gc.collect()
        json.dump(getattr(contender, task.name)(task), result)
        result.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
