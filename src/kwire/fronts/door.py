"""The door of a client: the one way of its callers to its core, and the checks on that way.

Layer 5, below the clients. `do` is for what takes no time, `run` (of the subclasses: `kwire._door` for threads,
`kwire.aio.door` for asyncio) for waits. A client that only one may use at a time refuses a second caller instead of
making it wait. A function of the program's that a wait calls (a rebalance listener) is let through meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from kwire._typing import TYPE_CHECKING, Any, Generic, TypeVar
from kwire.errors import ClientClosedError, ConcurrentUseError, ConfigError

if TYPE_CHECKING:
    from typing import ClassVar

    from kwire.engine.common.waits import Driver, Unfinished, Wait
else:
    from kwire._typing import ClassVar

T = TypeVar("T")
DriverType = TypeVar("DriverType", bound="Driver")


class ClientDoor(Generic[DriverType]):
    """`kind` is what the client is called in errors.

    used      a caller is inside, and keeps the others out
    telling   by whom a function is called that a wait tells something; None while there is none
    ending    the client is closed beside a caller, who may find that nothing is assigned any more
    """

    callers: ClassVar[str]
    """The word for one of its callers in errors: "thread" or "task"."""

    now = staticmethod(monotonic)

    def __init__(self, driver: DriverType, kind: str, *, one_caller: bool) -> None:
        self.driver = driver
        self.one_caller = one_caller
        self.used = False
        self.telling: object = None
        self.ending = False
        self._kind = kind

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self.driver.closed

    def call(self, work: Callable[[float], T]) -> T:
        """Does work(now) with the core to itself: for callers that are inside."""
        if self.driver.closed:
            raise self.closed_error()
        try:
            return self.driver.call(work)
        except ConfigError:
            if self.ending:
                raise self.closed_error() from None
            raise

    def closed_error(self) -> ClientClosedError:
        """What is raised once the client is closed."""
        return ClientClosedError(f"this {self._kind} is closed")

    def clean_up(self, work: Callable[[float], object]) -> None:
        """Does work(now) with the core to itself, unless the client is closed: for what a wait that was cut leaves."""
        if not self.driver.closed:
            self.driver.call(work)

    def conclude(self, work: Callable[[float], T]) -> T:
        """Does work(now) with the core to itself, closed or not: for what a wait ends with."""
        return self.driver.call(work)

    def check_may_block(self) -> None:
        """Raises where a wait would wait for itself."""
        self.driver.check_may_block()

    def do(self, work: Callable[[float], T]) -> T:
        """Does work(now) with the core to itself, as the one caller.

        Neither another thread nor a signal comes between check and assignment, because no call stands there.
        """
        if self.used:
            self._check_is_told()
            return self.call(work)
        try:
            self.used = True
            return self.call(work)
        finally:
            self.used = False

    def check_may_tell(self) -> None:
        """Raises inside a listener: a wait there that calls one would wait for itself."""
        if self.telling is not None:
            raise ConcurrentUseError("a rebalance listener may not poll or unsubscribe: it runs inside a poll")

    def _check_is_told(self) -> None:
        """Raises unless the call comes from the function that is told something: another one is in progress."""
        if not self.is_told:
            raise ConcurrentUseError(
                f"this consumer is in use by another {self.callers}, or by the call that this one "
                "interrupts; only wakeup() and close() may be called meanwhile"
            )

    # -- for the subclass to define ---------------------------------------------------------------------------------

    @property
    def is_told(self) -> bool:
        """Whether the call comes from the function that is told something."""
        raise NotImplementedError

    def go_on(self, task: Unfinished) -> None:
        """A farewell was cut: where the client can go on by itself, it is closed only once the task is done."""
        raise NotImplementedError

    def drop(self) -> None:
        """Nobody has the client any more: closes its connections."""
        raise NotImplementedError

    def begin(self, wait: Wait[None]) -> Any:
        """Begins a wait at once; what it returns can be awaited where that is the way of the client."""
        raise NotImplementedError
