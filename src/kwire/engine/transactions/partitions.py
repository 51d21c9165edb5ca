"""The partitions of a transaction, where they have to be added at the coordinator (transaction.version 0 and 1).

Layer 3, no I/O. A partition is blocked until the coordinator has it: a batch that came first would be no part of the
transaction. All partitions at hand go into one request.

    wanted   have something to send, and were not asked for
    asked    in a request: until it is answered the coordinator may have them or not
    added    the coordinator has them; an answer with an error adds none
"""

from __future__ import annotations

from collections.abc import Iterable

from kwire import protocol
from kwire._codec import PartitionQueue
from kwire.schema.error_codes import OPERATION_NOT_ATTEMPTED

_Topic = protocol.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic

VERSIONS = range(4)
"""Later ones are for brokers."""


class Partitions:
    """The partitions of one transaction."""

    def __init__(self) -> None:
        self._wanted: dict[PartitionQueue, None] = {}
        self._asked: dict[PartitionQueue, None] = {}
        self.added = False

    @property
    def to_ask(self) -> bool:
        """Whether there is something to ask."""
        return bool(self._wanted or self._asked)

    def want(self, queues: Iterable[PartitionQueue]) -> None:
        """These have something to send."""
        for queue in queues:
            if queue.blocked and queue not in self._asked:
                self._wanted[queue] = None

    def drop_wanted(self) -> None:
        """What was not asked for is not needed any more."""
        self._wanted.clear()

    def message(self, transactional_id: str, producer_id: int, epoch: int) -> protocol.AddPartitionsToTxnRequest:
        """Asks for all of them."""
        self._asked.update(self._wanted)
        self._wanted.clear()
        by_topic: dict[str, list[int]] = {}
        for queue in self._asked:
            by_topic.setdefault(queue.name, []).append(queue.partition)
        return protocol.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[_Topic(name=name, partitions=numbers) for name, numbers in by_topic.items()],
        )

    def add_asked(self) -> None:
        """The coordinator has them."""
        self.added = True
        while self._asked:
            self._asked.popitem()[0].blocked = False

    def refuse_asked(self) -> None:
        """The coordinator has none of them."""
        self._wanted = {**self._asked, **self._wanted}
        self._asked.clear()


def errors_in(response: protocol.AddPartitionsToTxnResponse) -> list[tuple[int, str]]:
    """(error code, partition in words) of those that were not added; what was not tried because of them comes last."""
    found = [
        (row.partition_error_code, f"{topic.name}-{row.partition_index}")
        for topic in response.results_by_topic_v3_and_below
        for row in topic.results_by_partition
        if row.partition_error_code
    ]
    return sorted(found, key=lambda row: row[0] == OPERATION_NOT_ATTEMPTED)
