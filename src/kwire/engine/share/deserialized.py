"""The records of one poll of a share group, with keys and values as the deserializers have made them.

Layer 3, no I/O. The records before one that cannot be read are returned by one poll, its error is raised by the next:
the record is released then, for another try by any member, unless the program acknowledges the error otherwise.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, Any, cast
from kwire.engine.common.waits import Turn
from kwire.engine.consumer.deserialization import Deserialization, DeserializedRecords, as_received
from kwire.engine.consumer.waits import READ_AT_ONCE
from kwire.errors import SerializationError

if TYPE_CHECKING:
    from kwire._codec import ConsumerRecord
    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.consumer.deserialization import DeserializedRecord
    from kwire.engine.share.polling import SharePolling
    from kwire.engine.share.records import ShareRecords


class DeserializedShareRecords(DeserializedRecords):
    """As ShareRecords; columns and `by_partition` have the bytes."""

    __slots__ = ("_received",)

    def __init__(self, made: DeserializedRecords, received: ShareRecords) -> None:
        super().__init__(made._parts, made._keys, made._values)
        self._received = received

    def delivery_count(self, record: ConsumerRecord | DeserializedRecord) -> int:
        """How often the record of this poll was delivered to the group, this time counted; KeyError for another."""
        received: Any = as_received(record)
        return self._received.delivery_count(received)

    def delivery_counts(self) -> list[int]:
        """How often each record was delivered, in the order of the records."""
        return [self.delivery_count(record) for record in self]


def deserialized(
    polled: Wait[ShareRecords], door: Door, polling: SharePolling, deserialization: Deserialization
) -> Wait[ShareRecords]:
    """The records of a poll with their keys and values read, up to the first that cannot be."""
    records = yield from polled
    yield from deserialization.preparations(records)
    reading = deserialization.reading(records)
    try:
        while reading.go_on(READ_AT_ONCE):
            yield Turn(lambda: True)
    except SerializationError:
        door.call(lambda now: polling.release_first())
        raise
    made = reading.result()
    if len(made) < len(records):
        door.call(lambda now: polling.limit(len(made)))
    return cast("ShareRecords", DeserializedShareRecords(made, records))
