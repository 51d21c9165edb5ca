"""Counts against the committed ones: which rose, by how much, and whether that is too much. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STRICT = 0.05
UNSTEADY = 0.15
LOOSE = 0.35


@dataclass(frozen=True)
class Line:
    """One loop. `counted` and `committed` are instructions per record, or None."""

    name: str
    counted: float | None
    committed: float | None
    tolerance: float

    @property
    def change(self) -> float | None:
        """By which share it rose; negative when it fell."""
        if self.counted is None or not self.committed:
            return None
        return self.counted / self.committed - 1

    @property
    def fails(self) -> bool:
        """More instructions than the tolerance allows, or a loop that is no longer counted."""
        return self.counted is None or (self.change is not None and self.change > self.tolerance)

    @property
    def remark(self) -> str:
        """What a reader should know."""
        if self.counted is None:
            return "NO LONGER COUNTED: --update if that is meant"
        if self.change is None:
            return "new: --update commits it"
        if self.fails:
            return f"TOO MANY (max: +{self.tolerance:.0%})"
        return "fewer: --update keeps it so" if self.change < -self.tolerance else ""


def differences(now: Mapping[str, str], committed: Mapping[str, str]) -> list[str]:
    """Where the environments differ, as text."""
    return [
        f"{name}: {now.get(name)} here, {committed.get(name)} there"
        for name in sorted({*now, *committed})
        if now.get(name) != committed.get(name)
    ]


def lines(counted: Mapping[str, float], committed: Mapping[str, float], tolerance: Mapping[str, float]) -> list[Line]:
    """One for each loop counted, then those no longer counted. The tolerance is STRICT unless given."""
    names = dict.fromkeys([*counted, *committed])
    return [Line(name, counted.get(name), committed.get(name), tolerance.get(name, STRICT)) for name in names]


def table(every: list[Line]) -> str:
    """Name, count, committed count, change, remark."""
    cells = [
        ["loop", "instructions", "committed", "change", ""],
        *(
            [
                line.name,
                _number(line.counted),
                _number(line.committed),
                "" if line.change is None else f"{line.change:+.1%}",
                line.remark,
            ]
            for line in every
        ),
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(5)]
    return "\n".join(
        f"{row[0]:<{widths[0]}}  " + "  ".join(f"{row[c]:>{widths[c]}}" for c in (1, 2, 3)) + f"  {row[4]}".rstrip()
        for row in cells
    )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if value < 10_000 else f"{value:,.0f}"
