"""The arithmetic of a comparison: who runs when, and what the rounds say. Pure functions, no I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

T = TypeVar("T")


def rotated(contenders: Sequence[T], round_number: int) -> list[T]:
    """The order of one round: over as many rounds as there are contenders, everyone is at every place once."""
    if not contenders:
        return []
    start = round_number % len(contenders)
    return [*contenders[start:], *contenders[:start]]


@dataclass(frozen=True)
class Ratio:
    """How many times the subject's cost a peer's is: the median of the rounds, and the least and the greatest."""

    median: float
    least: float
    greatest: float
    rounds: int


def ratio_of(subject: Mapping[int, float], peer: Mapping[int, float]) -> Ratio | None:
    """The peer's cost by the subject's, round by round; None when no round has both.

    Costs are compared inside a round only, because the load of the machine changes between rounds.
    """
    ratios = [peer[number] / subject[number] for number in sorted(subject) if number in peer and subject[number] > 0]
    if not ratios:
        return None
    return Ratio(median(ratios), min(ratios), max(ratios), len(ratios))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share (0 to 1) of the values lies, by the nearest rank; `ordered` ascends.

    Raises ValueError for no values or for a share outside 0 to 1.
    """
    if not ordered:
        raise ValueError("a percentile of no values")
    if not 0 <= share <= 1:
        raise ValueError(f"share={share}: from 0 to 1")
    rank = -(-len(ordered) * share // 1)
    return ordered[max(int(rank) - 1, 0)]
