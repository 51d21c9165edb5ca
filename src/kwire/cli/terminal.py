"""What the shell's output goes to: terminals or not, in colour or not; tables and progress as a terminal shows them.

Only a terminal gets colour, drawn tables and progress, by `rich` (`pip install "kwire[shell]"`); anything else, and a
terminal without `rich` or with TERM=dumb, gets plain lines. With NO_COLOR nothing is coloured. Control characters of
names and values never reach a terminal as they are. Knows no command and no client.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn

_RED = "\x1b[31m"
_PLAIN = "\x1b[0m"
_REFRESHES_PER_S = 8
_BYTES = "bytes"


def is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can do more than append lines."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def has_colour(stream: TextIO) -> bool:
    """Whether what is written there may be coloured."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def draws(stream: TextIO) -> bool:
    """Whether tables and progress can be drawn there."""
    if not is_terminal(stream):
        return False
    from importlib.util import find_spec

    return find_spec("rich") is not None


def print_error(text: str) -> None:
    """Prints a line on standard error, in red where that may be; the text may have several."""
    shown = _visible_lines(text)
    print(f"{_RED}{shown}{_PLAIN}" if has_colour(sys.stderr) else shown, file=sys.stderr, flush=True)


def print_note(text: str) -> None:
    """Prints a line on standard error that is no error; the text may have several."""
    print(_visible_lines(text), file=sys.stderr, flush=True)


def draw_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Draws a table on standard output, which `draws`: no wider than the terminal, by folding what is longest."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, entries in zip(head, zip(*rows, strict=True) if rows else ((),) * len(head), strict=True):
        are_numbers = bool(entries) and all(isinstance(each, (int, float)) for each in entries)
        table.add_column(Text(name), justify="right" if are_numbers else "left", no_wrap=are_numbers, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_visible(str(entry))) for entry in row))
    _console(sys.stdout).print(table)


class Progress:
    """How far a command has come, told by `advance`. This one tells nobody."""

    def advance(self, count: float = 1) -> None:
        """Counts what was done. From any thread; once for many, since it costs microseconds."""

    def expect(self, total: float | None) -> None:
        """Says how much there is to do in all, where that is known or changes later."""

    def describe(self, description: str) -> None:
        """Says what is being done."""


@contextmanager
def progress(description: str, total: float | None = None, *, unit: str = "records") -> Iterator[Progress]:
    """A line on standard error with a bar, the count of `unit`, its rate and the time left, gone when the block ends.

    Without a `total` it shows the time that has passed. "bytes" are shown in kB, MB and so on. For commands that print
    nothing to the same terminal meanwhile but lines on standard error, which come above it. Draws nothing where
    standard error is no terminal or `rich` is not there.
    """
    if not draws(sys.stderr):
        yield Progress()
        return
    from rich.progress import Progress as RichProgress

    columns = _columns(unit)
    with RichProgress(
        *columns,
        console=_console(sys.stderr),
        refresh_per_second=_REFRESHES_PER_S,
        transient=True,
        redirect_stdout=False,
    ) as drawn:
        yield _DrawnProgress(drawn, description, total)


class _DrawnProgress(Progress):
    def __init__(self, drawn: RichProgress, description: str, total: float | None) -> None:
        self._drawn = drawn
        self._task = drawn.add_task(_visible(description), total=total)

    def advance(self, count: float = 1) -> None:
        self._drawn.advance(self._task, count)

    def expect(self, total: float | None) -> None:
        self._drawn.update(self._task, total=total)

    def describe(self, description: str) -> None:
        self._drawn.update(self._task, description=_visible(description))


def _columns(unit: str) -> Sequence[ProgressColumn]:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    from kwire.cli.progress_columns import Count, Rate, TimeLeft

    counts = (DownloadColumn(), TransferSpeedColumn()) if unit == _BYTES else (Count(unit), Rate())
    return (TextColumn("{task.description}", markup=False), BarColumn(), *counts, TimeLeft())


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, force_terminal=True, markup=False, emoji=False, highlight=False)


def _visible_lines(text: str) -> str:
    return "\n".join(map(_visible, text.split("\n")))


def _visible(text: str) -> str:
    r"""The text with control characters as Python writes them: a line feed as \n."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
