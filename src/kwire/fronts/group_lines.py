"""Where the lines about a membership go: to the logger `kwire.clients`, outside the lock.

Layer 5, below the clients; what the lines say is in `kwire.engine.groups.group_log`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from kwire._typing import TYPE_CHECKING
from kwire.drivers.loggers import DEBUG, INFO, LateLogger

if TYPE_CHECKING:
    from kwire.engine.groups.group_log import GroupLog

_log = LateLogger("kwire.clients")


def write_lines_of(log: GroupLog, after_step: deque[Callable[[], object]]) -> None:
    """Has what happens to the membership logged; `after_step` is what the driver runs outside the lock."""

    def info(line: object) -> None:  # no methods: what the engine holds must not keep an unclosed client alive
        if _log.takes(INFO):
            after_step.append(partial(_log.info, "%s", line))

    def debug(line: object) -> None:
        if _log.takes(DEBUG):
            after_step.append(partial(_log.debug, "%s", line))

    log.write_info, log.write_debug = info, debug
    log.reads_debug = partial(_log.takes, DEBUG)
