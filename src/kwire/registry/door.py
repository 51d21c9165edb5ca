"""The runner of flows for threads: each step blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable
from concurrent.futures import Future
from threading import RLock
from typing import Any, TypeVar

from kwire.registry.flows import Apart, Flow, Once, Pause, Step

T = TypeVar("T")


class ThreadDoor:
    """The flows of one Registry that threads run; those of one key one at a time."""

    blocks = True

    def __init__(self) -> None:
        self._leads: dict[tuple[int, Hashable], _Lead] = {}
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
        key = os.getpid(), step.key
        lead = self._leads.setdefault(key, _Lead())
        with lead.lock:  # of C: an interrupt comes before it is taken, or within the block
            if lead.outcome is None:
                outcome = self._outcome_of(step)
                self._leads.pop(key, None)  # first: an outcome that stays would be that of all who come later
                lead.outcome = outcome
        return lead.outcome.result()

    def _outcome_of(self, step: Once) -> Future[Any]:
        outcome: Future[Any] = Future()
        try:
            outcome.set_result(self.run(step.flow()))
        except Exception as error:
            outcome.set_exception(error)
        return outcome


class _Lead:
    """What all who ask for the same have in common: one after the other takes the lock, and runs the flow unless there
    is an outcome; so the next one does, where one was cut. A signal handler may interrupt the one that runs it."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.outcome: Future[Any] | None = None
