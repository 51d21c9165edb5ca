"""How long something has been out of reach, and the two sentences about it: one when it begins, one when it is over.

Layer 3, no I/O and no logs: the text goes to `warn`, which hands it to the driver.
"""

from __future__ import annotations

from collections.abc import Callable


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

    def refuses(self, reason: str, longest_wait: float, now: float) -> None:
        """A login or a TLS handshake failed: as `lasts`, with words of its own."""
        self.begin(now)
        self._tell("cannot be used", reason, longest_wait, now)

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
        if not self._warned:
            self._warned = True
            self._warn(
                f"{self._describe()} {state} ({self.lasted(now):.1f} s so far): {reason}; still trying, "
                f"about every {longest_wait:g} s"
            )
