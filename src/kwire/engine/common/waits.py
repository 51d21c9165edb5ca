"""Waits: what a call does between its beginning and its answer, as generators that threads and asyncio run alike.

Layer 3, no I/O. A wait yields a step for whatever takes time, and is sent what came of it:

    Until   a condition, or so many seconds: whether the condition holds
    Turn    what has come is read, without waiting for more: whether the condition holds
    Tell    a function of the program's is called, and awaited if it is asynchronous: the Exception it raised, or None

All else it does by `Door.call`, with the core to itself; between those it runs outside the core. The runners are in
`kwire._door` and `kwire.aio.door`. A wait that is cut (Ctrl-C, a cancelled task) is closed where it stands: what has to
be put right then belongs into a `finally` or an `except BaseException`, and yields nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from math import inf

from kwire._typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

T = TypeVar("T")


class Until:
    """Waits until `done()`, for so many seconds at most (None: no limit), or until the client is closed."""

    __slots__ = ("done", "seconds")

    def __init__(self, done: Callable[[], bool], seconds: float | None) -> None:
        self.done = done
        self.seconds = seconds


class Turn:
    """Reads what has come; where `done()` already, that need not take long."""

    __slots__ = ("done",)

    def __init__(self, done: Callable[[], bool]) -> None:
        self.done = done


class Tell:
    """Calls `function(argument)`, which is the program's."""

    __slots__ = ("argument", "function")

    def __init__(self, function: Callable[[Any], Any], argument: object) -> None:
        self.function = function
        self.argument = argument


Step = Until | Turn | Tell
Wait = Generator[Step, Any, T]


class Driver(Protocol):
    """What a door asks of the driver of its client."""

    @property
    def closed(self) -> bool:
        """Whether the client was closed."""

    def call(self, work: Callable[[float], T], /) -> T:
        """Does work(now) with the core to itself."""

    def check_may_block(self) -> None:
        """Raises where a wait would wait for itself."""


class Unfinished(Protocol):
    """What a client that is closing has still to do."""

    def is_done(self) -> bool:
        """Whether there is nothing left to do."""

    def loss(self) -> str:
        """What is lost if it ends now, in words; "" if nothing is."""


class Door(Protocol):
    """What a wait asks of its client."""

    def call(self, work: Callable[[float], T]) -> T:
        """Does work(now) with the core to itself; raises ClientClosedError once the client is closed."""

    def clean_up(self, work: Callable[[float], object]) -> None:
        """Does work(now) with the core to itself, unless the client is closed: for what a wait that was cut leaves."""

    def conclude(self, work: Callable[[float], T]) -> T:
        """Does work(now) with the core to itself, closed or not: for what a wait ends with."""

    def go_on(self, task: Unfinished) -> None:
        """The wait was cut: where the client can go on by itself, it is closed only once the task is done."""

    def check_may_block(self) -> None:
        """Raises where a wait would wait for itself."""

    def check_may_tell(self) -> None:
        """Raises inside a listener: a wait there that calls one would wait for itself."""

    def now(self) -> float:
        """The time that `work` is given, too."""


def seconds_left(door: Door, until: float) -> float | None:
    """What an Until is given that ends then; inf is no limit."""
    return None if until == inf else max(until - door.now(), 0.0)
