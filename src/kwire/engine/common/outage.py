"""How long something has been out of reach, and the two sentences about it: one when it begins, one when it is over.

Layer 3, no I/O and no logs: the text goes to `warn`, which hands it to the driver. `refusal_in` tells the warnings of a
refusal from others: the shell leaves out those that the error of a command repeats.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire.engine.common.retry import Backoff

_REFUSED = " cannot be used: "
_RETRIED = "; it is tried again when it is needed, "


class Outage:
    """The reachability of one broker, or of the whole cluster before its first answer.

    `describe` names it at the time of the warning: a bootstrap address learns its broker's id later.
    """

    __slots__ = ("_describe", "_since", "_warn", "_warned", "reached")

    def __init__(self, describe: Callable[[], str], warn: Callable[[str], None]) -> None:
        self._describe = describe
        self.reached = False
        self._since: float | None = None
        self._warned = False
        self._warn = warn

    def begin(self, now: float) -> None:
        """A connection ended, which alone is no outage: brokers close idle ones."""
        if self._since is None:
            self._since = now

    def lasts(self, reason: str, longest_wait: float, now: float) -> None:
        """Something failed for `reason`. The first time of an outage this is a warning."""
        self.begin(now)
        self._tell("cannot be reached", reason, longest_wait, now)

    def hangs(self, since: float, reason: str, longest_wait: float, now: float) -> None:
        """It is connected, but has been silent since then: as `lasts`, with words of its own."""
        self.begin(since)
        self._tell("does not answer", reason, longest_wait, now)

    def refuses(self, reason: str, waits: Backoff, now: float) -> None:
        """A login or a TLS handshake failed: as `lasts`, with words of its own.

        They do not say that the client is trying: what waited for the broker may have failed with the same reason.
        """
        self.begin(now)
        self._warn_once(f"{_REFUSED}{reason}{_RETRIED}{_spaced(waits)}")

    def end(self, now: float) -> None:
        """It can be reached, as a connection or an answer shows."""
        if self._warned:
            when = "again" if self.reached else "now"
            self._warn(f"{self._describe()} can be reached {when}, after {self.lasted(now):.1f} s")
        self.reached = True
        self._since = None
        self._warned = False

    def lasted(self, now: float) -> float:
        """Seconds since the outage began; 0 if there is none."""
        return 0.0 if self._since is None else max(now - self._since, 0.0)

    def _tell(self, state: str, reason: str, longest_wait: float, now: float) -> None:
        self._warn_once(
            f" {state} ({self.lasted(now):.1f} s so far): {reason}; still trying, about every {longest_wait:g} s"
        )

    def _warn_once(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(self._describe() + text)


def refusal_in(warning: str) -> str:
    """The reason in a warning of `Outage.refuses`; "" in every other text."""
    return warning.partition(_REFUSED)[2].rpartition(_RETRIED)[0]


def _spaced(waits: Backoff) -> str:
    if waits.first == waits.longest:
        return f"after about {waits.first:g} s each time"
    return f"after about {waits.first:g} s at first and later after up to {waits.longest:g} s"
