"""The runner of waits for threads: each step is a call of the reactor, which blocks.

Layer 5, below the clients: knows the reactor, no client.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import TIMEOUT_MAX, RLock, get_ident

from kwire._typing import TypeVar, override
from kwire.drivers.reactor import Reactor
from kwire.engine.common.waits import Tell, Turn, Unfinished, Until, Wait
from kwire.errors import ClientClosedError
from kwire.fronts.door import ClientDoor

T = TypeVar("T")


class ThreadDoor(ClientDoor[Reactor]):
    """The door of a client for threads. `telling` is the thread in which the function is called."""

    callers = "thread"

    def __init__(self, reactor: Reactor, kind: str, *, one_caller: bool) -> None:
        super().__init__(reactor, kind, one_caller=one_caller)
        self._closer = RLock()
        """Held by the thread that closes the client."""

    def run(self, wait: Wait[T], *, alone: bool = True, beside: Callable[[], T] | None = None) -> T:
        """The result of the wait. While another caller is inside: what `beside` does, with which the client
        ends, or else an error; with alone=False they do not keep each other out.

        Neither another thread nor a signal comes between check and assignment, because no call stands there.
        """
        alone = alone and self.one_caller
        if alone and self.used:
            if beside is not None:
                self.ending = True
                return beside()
            self._check_is_told()
            alone = False
        try:
            if alone:
                self.used = True
            return self.driver.run(wait, Until, self._turn_or_tell)
        finally:
            if alone:
                self.used = False

    def _turn_or_tell(self, step: Turn | Tell) -> bool | Exception | None:
        if isinstance(step, Turn):
            return self.driver.turn(step.done)
        try:
            self.telling = get_ident()
            step.function(step.argument)
        except Exception as error:
            return error
        finally:
            self.telling = None
        return None

    @property
    @override
    def is_told(self) -> bool:
        return self.telling is not None and self.telling == get_ident()

    @override
    def begin(self, wait: Wait[None]) -> None:
        """Runs it to its end."""
        self.run(wait)

    @override
    def go_on(self, task: Unfinished) -> None:
        """Nothing goes on without a thread that waits for it: `close` closes at once."""

    @override
    def drop(self) -> None:
        self.driver.close()

    def close(
        self,
        farewell: Wait[None] | None = None,
        until: float = 0.0,
        *,
        alone: bool = True,
        beside: Callable[[], None] | None = None,
    ) -> None:
        """Runs the farewell, if there is one and the client is open, then closes all connections. From any thread;
        idempotent: a second one waits for the first, until then, or, where many may call, says farewell beside it.

        A listener, a callback or a signal handler of the thread that closes does not wait for itself.
        """
        reactor = self.driver
        if farewell is None or not reactor.owned_by_process:
            reactor.close()
            return
        has_turn = self.one_caller and self._closer.acquire(timeout=min(max(until - self.now(), 0.0), TIMEOUT_MAX))
        try:
            if not reactor.closed:
                self.run(farewell, alone=alone, beside=beside)
        except ClientClosedError:
            if not reactor.closed:
                raise  # else another close() had less time, or was called by the listener
        finally:
            reactor.close()
            if has_turn:
                self._closer.release()
