"""`commitGroupId`: a stream's offsets in a consumer group, for the tools that show its lag.

Spark's checkpoint alone says where a query goes on. So nothing that goes wrong here may stop or hold up the query: it
is logged, and tried again with a later batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from kwire.errors import KafkaError
from kwire.spark.ranges.stream_offsets import Offsets

_log = logging.getLogger("kwire.spark")

_WITHIN_S: Final = 3.0
_PAUSE_S: Final = 30.0


class GroupCommits:
    """Commits what a query has finished; after a failure not again for a while."""

    def __init__(self, group: str, send: Callable[[str, Offsets, float], None], clock: Callable[[], float]) -> None:
        self._group = group
        self._send = send
        self._clock = clock
        self._committed: Offsets = {}
        self._paused_until = clock()

    def commit(self, offsets: Offsets) -> None:
        if offsets == self._committed or not offsets or self._clock() < self._paused_until:
            return
        try:
            self._send(self._group, offsets, _WITHIN_S)
        except KafkaError as error:
            self._paused_until = self._clock() + _PAUSE_S
            _log.warning("Cannot commit offsets for commitGroupId '%s', the query goes on: %s", self._group, error)
        else:
            self._committed = offsets
