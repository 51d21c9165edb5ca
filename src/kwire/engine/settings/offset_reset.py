"""Where reading begins in a partition without a position: auto_offset_reset, also by duration (KIP-1106).

Layer 3, no I/O; the wall clock is passed in. A duration is ISO 8601's as java.time.Duration reads it, PnDTnHnMn.nS:
days of 24 hours, no months, a fraction in the seconds only.
"""

from __future__ import annotations

from math import inf

from kwire._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol
else:
    Protocol = object

LATEST = -1
EARLIEST = -2
"""The times that ListOffsets takes for the ends of a log."""

_BY_DURATION = "by_duration:"
_SYNONYMS = {
    "smallest": "earliest",
    "beginning": "earliest",
    "largest": "latest",
    "end": "latest",
    "error": "none",
}
_TIMES = {"earliest": EARLIEST, "latest": LATEST, "none": None}
_SECONDS = {"D": 86_400, "H": 3_600, "M": 60, "S": 1}
_DIGITS = frozenset("0123456789.")

WANTED = "'earliest', 'latest', 'none', or 'by_duration:' with an ISO 8601 duration such as 'by_duration:PT1H30M'"


class HasWallClock(Protocol):
    """A core: its driver sets the clock once it is there."""

    wall_clock: Callable[[], float]


class OffsetReset:
    """The rule of one consumer."""

    def __init__(self, rule: str, core: HasWallClock) -> None:
        self._ago = duration_ms(rule.removeprefix(_BY_DURATION)) if rule.startswith(_BY_DURATION) else None
        self._time = None if self._ago is not None else _TIMES[rule]
        self._core = core

    @property
    def exists(self) -> bool:
        """Whether there is a rule: with "none" a position is the caller's to give."""
        return self._ago is not None or self._time is not None

    def time(self) -> int | None:
        """What to look up now: EARLIEST, LATEST, milliseconds since the epoch, or None without a rule."""
        if self._ago is None:
            return self._time
        return max(int(self._core.wall_clock() * 1000) - self._ago, 0)


def offset_reset(value: object) -> str:
    """The setting's value in its usual spelling; ValueError for one that cannot be meant."""
    if not isinstance(value, str):
        raise TypeError
    text = value.strip()
    folded = text.lower()
    if folded.startswith(_BY_DURATION):
        duration = text[len(_BY_DURATION) :].strip().upper()
        duration_ms(duration)
        return _BY_DURATION + duration
    folded = _SYNONYMS.get(folded, folded)
    if folded not in _TIMES:
        raise ValueError
    return folded


def duration_ms(text: str) -> int:
    """Milliseconds of an ISO 8601 duration; ValueError for one that is negative or none."""
    days, t, time = text.upper().removeprefix("P").partition("T")
    if not text.upper().startswith("P") or not (days or time) or (t and not time):
        raise ValueError
    total = 0.0
    for part, units in ((days, "D"), (time, "HMS")):
        total += _part_ms(part, units)
    if total == inf:
        raise ValueError
    return round(total)


def _part_ms(part: str, units: str) -> float:
    """Of "1H30M" with the units "HMS": each at most once, in that order."""
    total, number, left = 0.0, "", units
    for letter in part:
        if letter in _DIGITS:
            number += letter
            continue
        if letter not in left or (not number.isdigit() and letter != "S"):
            raise ValueError
        total += float(number) * _SECONDS[letter] * 1000
        number, left = "", left[left.index(letter) + 1 :]
    if number:
        raise ValueError
    return total
