"""What must not hold up a driver: functions that block or compute for long, each on a thread of its own.

Layer 4. The threads are few and short-lived: one while a login asks for a token, talks to a KDC, or stretches a
password. The result comes back as a step of the reactor, or as a future of the event loop, unless that is gone by then.
They are not those of the loop's executor: `asyncio.run` would wait there for a function that never ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import ref

from kwire._typing import TYPE_CHECKING, Any
from kwire.drivers.threads import begin_thread
from kwire.errors import ClientClosedError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from kwire._codec import ReactorBase


def run_on_a_thread(
    reactor: ref[ReactorBase],
    function: Callable[[], Any],
    on_result: Callable[[Any, float], None],
    on_error: Callable[[BaseException, float], None],
) -> None:
    """Runs `function()` on a thread, then one of the other two with the reactor's core to itself."""

    def work() -> None:
        outcome: Callable[[float], None]
        try:
            outcome = partial(on_result, function())
        except BaseException as error:
            outcome = partial(on_error, error)
        alive = reactor()
        if alive is not None:
            try:
                alive.call(outcome, active=False)
            except ClientClosedError:
                pass  # nobody waits for it any more

    begin_thread(work, "kwire-apart")


def future_of_thread(loop: AbstractEventLoop, function: Callable[[], Any]) -> Future[Any]:
    """Runs `function()` on a thread; the future, which the loop sets, has what it returned or raised."""
    future = loop.create_future()

    def work() -> None:
        try:
            outcome = partial(_settle, future, function(), None)
        except BaseException as error:
            outcome = partial(_settle, future, None, error)
        try:
            loop.call_soon_threadsafe(outcome)
        except RuntimeError:
            pass  # the loop is closed

    begin_thread(work, "kwire-apart")
    return future


def _settle(future: Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        future.set_exception(error)
    else:  # not for the loop to see
        future.set_exception(RuntimeError(type(error).__name__))
