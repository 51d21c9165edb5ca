"""How much a task has read of one partition, for its line in the log."""

from __future__ import annotations

from typing import Final

from kwire.records import Records

_ALL: Final = 1 << 62


class Count:
    """How many records were read, and their bytes after decompression."""

    def __init__(self) -> None:
        self.rows = 0
        self.size = 0

    def add(self, records: Records) -> None:
        self.rows += len(records)
        self.size += records.measure(0, len(records), _ALL)[1]
