"""Connection trouble on standard error while a command waits: the first failure at once, then now and then.

The clients say through `logging` what happens to their connections; this shows it. A command that can connect prints
nothing.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN_AFTER = 10.0
_LOST = "connection to "
_OF_CLIENTS = ("kwire.drivers", "kwire.clients")


@contextmanager
def trouble_on_stderr(command: str) -> Iterator[None]:
    """While the block runs, failed connections and warnings of the clients are lines of `command` on stderr."""
    logger = logging.getLogger("kwire")
    handler = _Handler(command)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Handler(logging.Handler):
    """Prints warnings, and each failure to connect once in `_AGAIN_AFTER` seconds."""

    def __init__(self, command: str) -> None:
        super().__init__()
        self._command = command
        self._next: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        is_trouble = record.levelno >= logging.WARNING or text.startswith(_LOST)
        if not is_trouble or not record.name.startswith(_OF_CLIENTS):
            return
        now = time.monotonic()
        if now >= self._next.get(text, 0.0):
            self._next[text] = now + _AGAIN_AFTER
            print(f"kwire {self._command}: {text}", file=sys.stderr, flush=True)
