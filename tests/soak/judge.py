"""Whether something grows: the slope of a line by least squares through what was measured, and how sure it is.

Neighbouring samples resemble each other (a heap grows in steps, a client lives for some seconds), which would make a
line through all of them look surer than it is. So the line goes through the medians of WINDOWS windows of equal length.
A leak is what adds more than `allowed` over the time that was measured even if the slope is the lowest that the noise
leaves it: the longer a run, the smaller the leaks that it finds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

WINDOWS = 12
SURE = 4.14
"""Student's t for 10 degrees of freedom: one leak in a thousand is none, if windows differ by noise alone."""
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Slope:
    """Per hour, plus or minus `margin`; `hours` were measured, at a level of `first`."""

    per_hour: float
    margin: float
    hours: float
    first: float

    @property
    def surely(self) -> float:
        """What was added at least over the whole time; below 0 where it may have fallen."""
        return (self.per_hour - self.margin) * self.hours

    def is_leak(self, allowed: float) -> bool:
        """Whether more was added than is allowed, noise apart."""
        return self.surely > allowed


def slope_of(moments: Sequence[float], values: Sequence[float]) -> Slope:
    """The slope of samples in the order of time. Raises ValueError for fewer than two a window."""
    if len(values) < 2 * WINDOWS:
        raise ValueError(f"{len(values)} samples are too few: a slope takes {2 * WINDOWS}")
    bounds = [len(values) * number // WINDOWS for number in range(WINDOWS + 1)]
    windows = [slice(since, until) for since, until in pairwise(bounds)]
    x = [fmean(moments[window]) / _HOUR for window in windows]
    y = [median(values[window]) for window in windows]
    middle, level = fmean(x), fmean(y)
    spread = sum((each - middle) ** 2 for each in x)
    slope = sum((each - middle) * (value - level) for each, value in zip(x, y, strict=True)) / spread
    missed = sum((value - level - slope * (each - middle)) ** 2 for each, value in zip(x, y, strict=True))
    error = math.sqrt(missed / (WINDOWS - 2) / spread)
    return Slope(slope, SURE * error, (moments[-1] - moments[0]) / _HOUR, y[0])
