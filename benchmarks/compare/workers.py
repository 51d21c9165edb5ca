"""The contenders' parent processes as the runner sees them: started when first needed, ended together."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, Self

from benchmarks.compare.measure import ROOT, WorkFailedError, worker_environment
from benchmarks.compare.task import Task
from benchmarks.compare.worker import LIMIT_S, module_of

_PATIENCE_S = LIMIT_S + 60
_STOP_LIMIT_S = 5.0


class Workers:
    """Runs tasks, each in a process of its own. A context manager."""

    def __init__(self) -> None:
        self._parents: dict[str, _Parent] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for parent in self._parents.values():
            parent.stop()
        self._parents.clear()

    def run(self, task: Task) -> dict[str, Any]:
        """What was measured, and with `process_` the cost of the whole process. Raises WorkFailedError."""
        module = module_of(task.contender, task.verb)
        if module not in self._parents:
            self._parents[module] = _Parent(module)
        try:
            answer = self._parents[module].ask(task)
        except WorkFailedError:
            self._parents.pop(module).stop()
            raise
        if "error" in answer:
            raise WorkFailedError(answer["error"])
        measured: dict[str, Any] = answer["measured"]
        return measured


class _Parent:
    """One process that forks."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._complaints = TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.compare.worker", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            cwd=ROOT,
            env=worker_environment(),
        )

    def ask(self, task: Task) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(task.to_dict()), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._failure("ended") from None
        ready, _, _ = select.select([self._process.stdout], [], [], _PATIENCE_S)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise self._failure("ended without an answer" if ready else f"did not answer for {_PATIENCE_S} s")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _failure(self, what: str) -> WorkFailedError:
        self._complaints.seek(0)
        return WorkFailedError(f"the parent process of {self._module} {what}: {self._complaints.read().strip()[-800:]}")

    def stop(self) -> None:
        """Ends it: by the end of its stdin, else by SIGKILL."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._complaints.close()
