"""Where a consumer stands in each partition, and what was fetched from there but not handed out yet.

Layer 3, no I/O. `fetcher.py` moves these; nothing here asks a broker.
"""

from __future__ import annotations

from kwire._codec import Records
from kwire.engine.addresses import TopicPartition
from kwire.engine.offsets import EARLIEST, LATEST
from kwire.errors import KafkaError

NO_POSITION = -1
END_OF_OFFSETS = 2**63 - 1


class Chunk:
    """Records fetched from one partition, some of them perhaps handed out already."""

    __slots__ = ("next_offset", "records", "taken")

    def __init__(self, records: Records, next_offset: int) -> None:
        self.records = records
        self.next_offset = next_offset
        self.taken = 0

    @property
    def left(self) -> int:
        """Records not handed out yet."""
        return len(self.records) - self.taken

    def take(self, most: int | None) -> Records:
        """The next records, at most so many."""
        if most is None or most >= self.left:
            part = self.records if self.taken == 0 else self.records[self.taken :]
            self.taken = len(self.records)
            return part
        part = self.records[self.taken : self.taken + most]
        self.taken += most
        return part

    @property
    def position(self) -> int:
        """The offset of the first record not handed out, or of what follows the chunk."""
        return self.records[self.taken].offset if self.left else self.next_offset


class PartitionState:
    """One assigned partition."""

    __slots__ = (
        "chunk",
        "end_offset",
        "epoch",
        "fault",
        "fetch_at",
        "high_watermark",
        "in_flight",
        "log_start_offset",
        "max_bytes",
        "paused",
        "read_from",
        "reset_to",
        "rest_until",
        "stable_offset",
        "tp",
    )

    def __init__(self, tp: TopicPartition, max_bytes: int, reset_to: int | None) -> None:
        self.tp = tp
        self.fetch_at = NO_POSITION
        self.reset_to = reset_to
        self.epoch = 0
        self.paused = False
        self.in_flight = False
        self.chunk: Chunk | None = None
        self.fault: KafkaError | None = None
        self.max_bytes = max_bytes
        self.rest_until = 0.0
        self.high_watermark = -1
        self.stable_offset = -1
        self.log_start_offset = -1
        self.read_from: tuple[int, float] | None = None
        self.end_offset = END_OF_OFFSETS

    @property
    def position(self) -> int:
        """The offset of the next record to hand out; NO_POSITION while it is being looked up."""
        return self.chunk.position if self.chunk is not None else self.fetch_at

    def move(self, offset: int) -> None:
        """The next record is to be that of `offset`; what was fetched or is being fetched is of no use."""
        self.fetch_at = offset
        self.reset_to = None
        self._forget()

    def reset(self, time: int) -> None:
        """The position is to be looked up by time."""
        self.fetch_at = NO_POSITION
        self.reset_to = time
        self._forget()

    def _forget(self) -> None:
        self.epoch += 1
        self.in_flight = False
        self.chunk = None
        self.fault = None
        self.rest_until = 0.0

    @property
    def has_something(self) -> bool:
        """Whether there are records, or an error, to hand out."""
        return not self.paused and (self.chunk is not None or self.fault is not None)

    def wants_fetch(self, now: float) -> bool:
        """Whether the next records should be asked for."""
        return (
            self.fetch_at >= 0
            and not self.paused
            and not self.in_flight
            and self.chunk is None
            and self.fault is None
            and now >= self.rest_until
            and self.fetch_at < self.end_offset
        )

    @property
    def wants_lookup(self) -> bool:
        """Whether the position has to be looked up."""
        return self.fetch_at < 0 and self.reset_to is not None and self.fault is None


def reset_time(policy: str) -> int | None:
    """What auto_offset_reset looks up: EARLIEST, LATEST, or None for "none"."""
    return {"earliest": EARLIEST, "latest": LATEST}.get(policy)
