"""What must not hold up a driver of threads: functions that block or compute for long, each on a thread of its own.

Layer 4. The threads are few and short-lived: one while a login asks for a token, talks to a KDC, or stretches a
password. The result comes back as a step of the reactor, unless that is gone by then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import ref

from kwire._typing import TYPE_CHECKING, Any
from kwire.drivers.threads import begin_thread
from kwire.errors import ClientClosedError

if TYPE_CHECKING:
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
