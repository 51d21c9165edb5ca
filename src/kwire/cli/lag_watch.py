"""`kwire lag --watch`: the lag again and again, how fast it grows and shrinks, and when the group will be at the end.

Rates are those of the last half minute: groups commit every few seconds, and a shorter look would see nothing, or all.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from kwire.cli.output import show
from kwire.cli.rendering import utc
from kwire.cli.settings import in_dots
from kwire.cli.terminal import is_terminal, print_error
from kwire.cli.trouble import error_text
from kwire.errors import KafkaError

KEYS = (
    "time", "group", "topic", "partition", "committed", "end", "lag", "consumed_per_s", "produced_per_s", "catch_up_s",
)  # fmt: skip
_WINDOW_S = 30.0
_CLEAR = "\x1b[H\x1b[J"


class Place(NamedTuple):
    """How far a group is in a partition: what it has committed, None for nothing, and where the partition ends."""

    committed: int | None
    end: int


Key = tuple[str, str, int]
"""Group, topic, partition."""


class Rates:
    """What was seen in the last half minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Mapping[Key, Place]]] = deque()

    def rows(self, now: float, places: Mapping[Key, Place]) -> list[Sequence[Any]]:
        """The rows without their time: one for each partition, and for a group of several their sum."""
        self._seen.append((now, places))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        found: list[Sequence[Any]] = []
        for group in dict.fromkeys(key[0] for key in places):
            own = [key for key in places if key[0] == group]
            found += [self._row(key, [key], places) for key in own]
            if len(own) > 1:
                found.append(self._row((group, None, None), own, places))
        return found

    def _row(self, shown: tuple[Any, ...], keys: Sequence[Key], places: Mapping[Key, Place]) -> Sequence[Any]:
        known = [places[key] for key in keys if places[key].committed is not None]
        lag = sum(max(place.end - (place.committed or 0), 0) for place in known) if known else None
        consumed = self._per_second(keys, lambda place: place.committed)
        produced = self._per_second(keys, lambda place: place.end)
        single = places[keys[0]] if len(keys) == 1 else None
        return (
            *shown,
            single and single.committed,
            single and single.end,
            lag,
            consumed,
            produced,
            _catch_up(lag, consumed, produced),
        )

    def _per_second(self, keys: Iterable[Key], of: Any) -> float | None:
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        pairs = [(of(first[key]), of(last[key])) for key in keys if key in first and key in last]
        moved = [after - before for before, after in pairs if before is not None and after is not None]
        return round(sum(moved) / (now - began), 1) if moved and now > began else None


def _catch_up(lag: int | None, consumed: float | None, produced: float | None) -> float | None:
    """Seconds until the lag is gone; None where that is not known, or never."""
    if not lag:
        return None if lag is None else 0.0
    if consumed is None or produced is None or consumed <= produced:
        return None
    return round(lag / (consumed - produced), 1)


def watch(options: argparse.Namespace, look: Callable[[], Mapping[Key, Place]]) -> NoReturn:
    """Looks and shows until Ctrl-C. What fails later than the first time is told, and tried again."""
    rates = Rates()
    for number in itertools.count():
        began = time.monotonic()
        try:
            rows = rates.rows(began, look())
        except KafkaError as error:
            if not number:
                raise
            print_error(f"kwire lag: {in_dots(error_text(error))}")
        else:
            _show(options, rows, has_head=not number)
        time.sleep(max(began + options.watch - time.monotonic(), 0.0))
    raise AssertionError


def _show(options: argparse.Namespace, rows: Sequence[Sequence[Any]], *, has_head: bool) -> None:
    """In place of the rows before on a terminal, else below them."""
    stamp = utc(int(time.time() * 1000))
    if options.output == "table" and is_terminal(sys.stdout):
        print(f"{_CLEAR}{stamp}, every {options.watch:g} s, until Ctrl-C")
        show(KEYS[1:], rows, "table")
    else:
        show(KEYS, [(stamp, *row) for row in rows], options.output, has_head=has_head)
