"""Waits in virtual time: what the doors of the clients do, done by a world; and a wait that is cut at each step.

`Cut` is raised as Ctrl-C or a cancellation would be: in place of a step's answer, with the wait closed where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import inf
from typing import Any

from kwire.engine.common.waits import Step, Tell, Turn, Unfinished, Until, Wait
from kwire.errors import ClientClosedError
from tests.engine.world import World


class Cut(BaseException):
    """In the program's words: KeyboardInterrupt, or CancelledError."""


class WorldDoor:
    """The door of a client in a world. `steps` are those that waits have taken, `going_on` what cut ones have left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.closed = False
        self.steps: list[Step] = []
        self.going_on: list[Unfinished] = []
        self._inside = False

    def now(self) -> float:
        return self.world.now

    def call(self, work: Callable[[float], Any]) -> Any:
        if self.closed:
            raise ClientClosedError("closed")
        assert not self._inside, "a wait may not enter the core twice"
        self._inside = True
        try:
            return work(self.world.now)
        finally:
            self._inside = False

    def clean_up(self, work: Callable[[float], object]) -> None:
        if not self.closed:
            self.call(work)

    def conclude(self, work: Callable[[float], Any]) -> Any:
        return work(self.world.now)

    def go_on(self, task: Unfinished) -> None:
        self.going_on.append(task)

    def check_may_tell(self) -> None:
        assert not self._inside

    def check_may_block(self) -> None:
        assert not self._inside

    def run(self, wait: Wait[Any], *, cut_at: int = 0) -> Any:
        """The result of the wait; cut in place of the answer to step number `cut_at`, from 1 on."""
        came: Any = None
        for number in count(1):
            try:
                step = wait.send(came)
            except StopIteration as end:
                return end.value
            self.steps.append(step)
            if number == cut_at:
                wait.close()
                raise Cut
            came = self._answer(step)
        raise AssertionError

    def _answer(self, step: Step) -> Any:
        if isinstance(step, Tell):
            try:
                step.function(step.argument)
            except Exception as error:
                return error
            return None
        seconds = 0.0 if isinstance(step, Turn) else inf if step.seconds is None else step.seconds
        deadline = self.world.now + seconds
        if isinstance(step, Until) and deadline < inf:
            self.world.at(deadline, lambda: None)
            self.world.run(lambda: step.done() or self.closed or self.world.now >= deadline)
        elif isinstance(step, Until):
            self.world.run(lambda: step.done() or self.closed)
        return step.done()


def cut_at_each_step(door: WorldDoor, make: Callable[[], Wait[Any]]) -> Any:
    """Runs such a wait again and again, cut one step later each time; the result of the one that came to its end."""
    for number in count(1):
        try:
            return door.run(make(), cut_at=number)
        except Cut:
            assert number < 1000
    raise AssertionError
