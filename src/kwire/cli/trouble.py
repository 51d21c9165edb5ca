"""The clients' warnings (a broker that cannot be reached, and that it can again) as lines on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CLIENTS = ("kwire.drivers", "kwire.clients")


@contextmanager
def trouble_on_stderr(command: str) -> Iterator[None]:
    """While the block runs, warnings of the clients are lines of `command` on stderr."""
    handler = _Handler(command)
    loggers = [logging.getLogger(name) for name in _CLIENTS]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class _Handler(logging.Handler):
    """`kwire COMMAND: text`."""

    def __init__(self, command: str) -> None:
        super().__init__(logging.WARNING)
        self._command = command

    def emit(self, record: logging.LogRecord) -> None:
        print(f"kwire {self._command}: {record.getMessage()}", file=sys.stderr, flush=True)
