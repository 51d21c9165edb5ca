"""The parts of a line of progress that `rich` does not have: how many of what, how many a second, how long still.

Imported only where progress is drawn.
"""

from __future__ import annotations

from datetime import timedelta

from rich.progress import ProgressColumn, Task
from rich.text import Text


class Count(ProgressColumn):
    """`1,200/5,000 records`."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        of = "" if task.total is None else f"/{task.total:,.0f}"
        return Text(f"{task.completed:,.0f}{of} {self._unit}")


class Rate(ProgressColumn):
    """`1,200/s`, of the last half minute."""

    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else f"{rate:,.0f}/s")


class TimeLeft(ProgressColumn):
    """`0:00:12 left`, or the time that has passed where nobody knows the end."""

    def render(self, task: Task) -> Text:
        if task.total is None or task.time_remaining is None:
            return Text(_clock(task.elapsed or 0.0))
        return Text(f"{_clock(task.time_remaining)} left")


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
