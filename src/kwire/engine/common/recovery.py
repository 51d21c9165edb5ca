"""What owners of requests and timers do after a step that an exception (Ctrl-C) interrupted.

Layer 3, no I/O. Whoever makes a request or sets a timer is a Recoverable. A cut step may have left anything half done,
so the core forgets all connections and ends all requests (`Core.recover`), and then calls `recover` of every owner:
those that have signed up by `recover_with`, which pass it on to those that they own. `recover` looks at what it finds
and asks again for what is missing; it may be cut itself, and is called again then.
`tests/engine/common/test_recovery.py` finds an owner without it.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Recoverable:
    """An owner of requests or timers."""

    __slots__ = ()

    def recover(self, now: float) -> None:
        """A step was interrupted: no request made so far will be answered. Timers still run, and one whose callback
        was cut runs again; a handle to a timer that was being set may be missing."""
        raise NotImplementedError

    def recover_with(self, core: Recovering) -> None:
        """Has the core call `recover` from now on."""
        core.recovered.append(self)

    def recover_no_more(self, core: Recovering) -> None:
        """It has ended: there is nothing to ask for."""
        if self in core.recovered:
            core.recovered.remove(self)


class Recovering(Protocol):
    """The core, as far as this is about it."""

    recovered: list[Recoverable]
