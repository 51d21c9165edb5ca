"""Times in a table of fixed size: each is known to 3 %, however many there are.

Microseconds below 64 have a counter each; above, each doubling has 32.
"""

from __future__ import annotations

from array import array

_EXACT = 64
_STEPS = 32
_SHIFT = 6
_COUNTERS = _EXACT + _STEPS * 32
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


class Histogram:
    """Counts of times. Pickles as its counters; those of several clients are added."""

    def __init__(self) -> None:
        self._counts = array("Q", bytes(8 * _COUNTERS))
        self._max_us = 0

    def add(self, seconds: float) -> None:
        """Counts a time."""
        us = max(int(seconds * 1e6), 0)
        self._counts[_index(us)] += 1
        if us > self._max_us:
            self._max_us = us

    def merge(self, other: Histogram) -> None:
        """Adds what another has counted."""
        for index, count in enumerate(other._counts):
            if count:
                self._counts[index] += count
        self._max_us = max(self._max_us, other._max_us)

    def __len__(self) -> int:
        return sum(self._counts)

    def milliseconds(self) -> dict[str, float | None]:
        """Percentiles, the mean and the greatest; None where nothing was counted."""
        total = len(self)
        if not total:
            return dict.fromkeys((*PERCENTILES, "max", "mean"))
        found: dict[str, float | None] = {name: self._at(share * total) for name, share in PERCENTILES.items()}
        found["max"] = self._max_us / 1000
        found["mean"] = round(sum(_middle(at) * count for at, count in enumerate(self._counts)) / total / 1000, 3)
        return found

    def _at(self, rank: float) -> float:
        seen = 0
        for index, count in enumerate(self._counts):
            seen += count
            if count and seen >= rank:
                return round(min(_middle(index), self._max_us) / 1000, 3)
        return self._max_us / 1000


def _index(us: int) -> int:
    if us < _EXACT:
        return us
    shift = us.bit_length() - _SHIFT
    return min(_EXACT + (shift - 1) * _STEPS + (us >> shift) - _STEPS, _COUNTERS - 1)


def _middle(index: int) -> float:
    """The time in the middle of a counter's."""
    if index < _EXACT:
        return index
    shift, step = divmod(index - _EXACT, _STEPS)
    return ((_STEPS + step) << (shift + 1)) + (1 << (shift + 1)) / 2
