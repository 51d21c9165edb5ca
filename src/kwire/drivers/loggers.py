"""Loggers that import `logging` when there is something to log, which in most processes is never.

Drivers and clients name theirs `kwire.<layer>`. Messages below WARNING are dropped until `logging` is imported: no
handler can have asked for them.
"""

from __future__ import annotations

import sys

from kwire._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger

DEBUG = 10
INFO = 20


class LateLogger:
    """The logger `name`, with the four verbs that the package uses.

    A message that no handler takes costs no lock: `logging` takes its own by a call before `try`, so an exception out
    of a signal handler there would leave it taken, and every other thread that logs would wait for ever.
    """

    __slots__ = ("_found", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: Logger | None = None
        if "logging" in sys.modules:
            self._logger()

    def takes(self, level: int) -> bool:
        """Whether somebody may read messages of that level."""
        return "logging" in sys.modules and self._logger().getEffectiveLevel() <= level

    def debug(self, text: str, *values: object) -> None:
        if self.takes(DEBUG):
            self._logger().debug(text, *values)

    def info(self, text: str, *values: object) -> None:
        if self.takes(INFO):
            self._logger().info(text, *values)

    def warning(self, text: str, *values: object) -> None:
        self._logger().warning(text, *values)

    def exception(self, text: str, *values: object) -> None:
        """To be called where an exception is handled; it is logged, too."""
        self._logger().exception(text, *values)

    def _logger(self) -> Logger:
        """Looked up once: getLogger takes a lock of the whole process, and Ctrl-C within would leave it taken."""
        if self._found is None:
            from logging import getLogger

            self._found = getLogger(self.name)
        return self._found
