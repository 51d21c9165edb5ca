"""How long something has been out of reach, and the two sentences about it: one when it begins, one when it ends.

Layer 3, no I/O and no logs: the text goes to `warn`, which hands it to the driver. That of a refusal is a
`RefusalWarning`: the shell leaves out those that the error of a command repeats.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._typing import Self
from kwire.engine.common.retry import Backoff
from kwire.errors.wording import Wording

WARN_AFTER_S = 3.0
"""How long something is waited for that brokers may make meanwhile, such as a topic, until a warning."""


ELECTION_WITHIN_S = 30.0
"""For how long another leader is expected, after a broker is out of reach or a partition has none."""


class RefusalWarning(Wording):
    """The text of a warning that one side refuses the other; `reason` says why."""

    reason: str

    def __new__(cls, who: str, reason: str, when_again: str) -> Self:
        words = "{who} cannot be used: {reason}; it is retried when it is needed, {when_again}"
        made = super().__new__(cls, words, who=who, reason=reason, when_again=when_again)
        made.reason = reason
        return made


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
        """An attempt to connect failed or is slow. The end of a connection is no outage: brokers close idle ones."""
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
        self._warn_once(RefusalWarning(self._describe(), reason, _spaced(waits)))

    def end(self, now: float) -> None:
        """It can be reached, as a connection or an answer shows."""
        if self._warned:
            when = "again" if self.reached else "now"
            self._warn(f"{self._describe()} can be reached {when}, after {self.lasted(now):.1f} s")
        self.reached = True
        self._since = None
        self._warned = False

    @property
    def is_known(self) -> bool:
        """Whether there is one, as an attempt to connect or a silence showed, not only the end of a connection."""
        return self._warned

    def lasted(self, now: float) -> float:
        """Seconds since the outage began; 0 if there is none."""
        return 0.0 if self._since is None else max(now - self._since, 0.0)

    def _tell(self, state: str, reason: str, longest_wait: float, now: float) -> None:
        self._warn_once(
            Wording(
                "{who} {state} ({lasted:.1f} s so far): {reason}; still trying, about every {wait:g} s",
                who=self._describe(),
                state=state,
                lasted=self.lasted(now),
                reason=reason,
                wait=longest_wait,
            )
        )

    def _warn_once(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(text)


def _spaced(waits: Backoff) -> str:
    if waits.first == waits.longest:
        return f"after about {waits.first:g} s each time"
    return f"after about {waits.first:g} s at first, later after up to {waits.longest:g} s"
