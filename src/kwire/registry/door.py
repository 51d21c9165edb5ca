"""The runner of flows for threads: each step blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

from kwire.registry.flows import Apart, Flow, Once, Pause, Step

T = TypeVar("T")


class ThreadDoor:
    """The flows of one Registry that threads run; those of one key one at a time."""

    blocks = True

    def __init__(self) -> None:
        self._running: dict[tuple[int, Hashable], Future[Any]] = {}
        """By process, too: the threads that run them are not in a forked one."""

    def run(self, flow: Flow[T]) -> T:
        """The result of the flow."""
        came: Any = None
        failed: Exception | None = None
        try:
            while True:
                step = flow.send(came) if failed is None else flow.throw(failed)
                came = failed = None
                try:
                    came = self._done(step)
                except Exception as error:
                    failed = error
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            flow.close()

    def _done(self, step: Step) -> Any:
        if isinstance(step, Apart):
            return step.function()
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        mine: Future[Any] = Future()
        while True:
            running = self._running.setdefault((os.getpid(), step.key), mine)
            if running is mine:
                return self._lead(step, mine)
            if (outcome := running.result()) is not None:
                return outcome.result()

    def _lead(self, step: Once, mine: Future[Any]) -> Any:
        """Runs it for all who wait; one that was cut leaves them None, and the next of them runs it."""
        outcome: Future[Any] | None = None
        try:
            result = self.run(step.flow())
            outcome = Future()
            outcome.set_result(result)
            return result
        except Exception as error:
            outcome = Future()
            outcome.set_exception(error)
            raise
        finally:
            del self._running[os.getpid(), step.key]
            mine.set_result(outcome)
