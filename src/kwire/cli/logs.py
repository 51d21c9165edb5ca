"""-v and -vv: what the library logs, as lines on standard error. Its warnings are lines of the command already."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kwire.cli.trouble import CLIENTS

_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)-5s %(name)s: %(message)s"


@contextmanager
def logged(verbosity: int) -> Iterator[None]:
    """While the block runs, 1 shows what is INFO, 2 and more what is DEBUG, too."""
    handler = _Handler()
    handler.setFormatter(logging.Formatter(_FORMAT, "%H:%M:%S"))
    handler.addFilter(lambda record: record.levelno < logging.WARNING or record.name not in CLIENTS)
    library = logging.getLogger("kwire")
    before = library.level
    library.addHandler(handler)
    library.setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
    try:
        yield
    finally:
        library.removeHandler(handler)
        library.setLevel(before)


class _Handler(logging.Handler):
    """Writes to whatever standard error is at the moment: progress moves it."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)
