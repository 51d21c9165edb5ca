"""ListOffsets: offsets by time, asked of the leaders of the partitions.

Layer 3, no I/O. See `engine/calls/offsets.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Leader
from kwire.engine.calls.offsets import OffsetAndTimestamp, list_offsets_request, offset_in, too_old_for, versions_for
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.errors.listing import first_of
from kwire.schema.api_keys import LIST_OFFSETS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse


class ListOffsets(AdminApi[TopicPartition, OffsetAndTimestamp]):
    """The offset of each partition at a time; {TopicPartition: OffsetAndTimestamp} in the order asked for."""

    api_key = LIST_OFFSETS
    retries_codes = True
    tells_all = True

    def __init__(self, times: Mapping[TopicPartition, int], *, isolation: int) -> None:
        self.what = f"ListOffsets of {_some(times)}"
        self.lookup = Leader()
        self.versions = versions_for(isolation)
        self._times = times
        self._isolation = isolation

    @override
    def split(self, core: Services) -> Sequence[TopicPartition]:
        return list(self._times)

    @override
    def request(self, core: Services, keys: Sequence[TopicPartition], version: int) -> protocol.ListOffsetsRequest:
        return list_offsets_request(core, {tp: self._times[tp] for tp in keys}, self._isolation, version)

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.ListOffsetsResponse, version: int
    ) -> Mapping[TopicPartition, OffsetAndTimestamp | KafkaError]:
        rows = (
            (TopicPartition(topic.name, row.partition_index), row)
            for topic in response.topics
            for row in topic.partitions
        )
        return by_key(((tp, _found(tp, row, version)) for tp, row in rows), self.what)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return too_old_for(self._isolation, error)


def _found(tp: TopicPartition, row: Row, version: int) -> OffsetAndTimestamp | KafkaError:
    if row.error_code:
        return errors.broker.error_for(row.error_code, f"ListOffsets of {tp.topic}-{tp.partition}")
    return OffsetAndTimestamp(offset_in(row, version), row.timestamp, row.leader_epoch)


def _some(partitions: Iterable[TopicPartition]) -> str:
    return first_of((f"{tp.topic}-{tp.partition}" for tp in partitions), 3)
