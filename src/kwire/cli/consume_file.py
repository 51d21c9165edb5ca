"""`kwire consume --output FILE`: records into a file of columns, with progress; Ctrl-C ends it with a whole file."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwire.cli.table_formats import SUFFIXES, check_pyarrow, table_format
from kwire.cli.terminal import progress
from kwire.cli.usage import UsageError
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.cli.record_columns import Look, Rows
    from kwire.cli.record_output import Renderer


def check_output(path: str) -> None:
    """UsageError for a file that is of no format by its name."""
    if table_format(path) is None:
        raise UsageError(f"--output {path}: a name that ends in {', '.join(SUFFIXES)} is needed")
    check_pyarrow()


@contextmanager
def writing_file(path: str, look: Look, count: int | None) -> Iterator[Renderer]:
    """Yields what takes records, of which `count` are to come, and says at the end how many there were."""
    from kwire.cli.table_files import TableFile

    table = TableFile(path, look)
    try:
        with progress(f"records into {path}", count) as shown, table:

            def append(topic: str, partition: int, rows: Rows) -> bytes:
                with _interrupts_held_back():
                    made = table.append(topic, partition, rows)
                shown.advance(len(rows))
                return made

            yield append
    except KeyboardInterrupt:
        print(f"kwire consume: ended by Ctrl-C: {counted(table.rows, 'record')} in {path}", file=sys.stderr, flush=True)
        raise
    print(f"{counted(table.rows, 'record')} in {path}", file=sys.stderr)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A Ctrl-C in the block is raised at its end: rows are in the file once, or not at all."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt
