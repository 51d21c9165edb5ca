"""A limit on requests whose responses make a client send the next at once.

Layer 3, no I/O. A broker that answers at once, and each time so that the client has to ask again (a heartbeat interval
of 0, a member that is fenced for ever, a fetch that brings nothing new), would be asked as often as the network allows.
A `Pace` allows BURST such requests in a row, and one every EVERY_S after that. What a response says about time is
bounded here, too.
"""

from __future__ import annotations

EVERY_S = 0.1
"""Seconds between two such requests in the long run."""

BURST = 10
"""How many may follow each other at once."""

MAX_THROTTLE_S = 60.0
"""A response that asks for a longer pause (quotas ask for a second or some) is believed for so long."""


class Pace:
    """The moments of such requests. One is counted by `count`, and may be made from `moment` on."""

    __slots__ = ("_spent_until",)

    def __init__(self) -> None:
        self._spent_until = 0.0

    def count(self, now: float) -> float:
        """Counts one; returns the moment from which on the next may be made: `now`, unless it is one too many."""
        self._spent_until = max(self._spent_until, now) + EVERY_S
        return self.moment(now)

    def moment(self, now: float) -> float:
        """The moment from which on the next may be made."""
        return max(now, self._spent_until - BURST * EVERY_S)


class Throttling:
    """The pauses that the responses to a client have asked for, in seconds."""

    __slots__ = ("longest", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self.longest = 0.0

    def count(self, throttle_time_ms: int) -> float:
        """Counts one; returns it in seconds."""
        seconds = throttle_s(throttle_time_ms)
        self.total += seconds
        self.longest = max(self.longest, seconds)
        return seconds


def throttle_s(throttle_time_ms: int) -> float:
    """The pause that a response asks for, in seconds: never negative, MAX_THROTTLE_S at most."""
    return min(max(throttle_time_ms / 1000, 0.0), MAX_THROTTLE_S)
