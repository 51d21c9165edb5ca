"""Offsets of share groups (KIP-932), listed, altered and deleted: keys 90, 91 and 92. Layer 3, no I/O.

Each is asked of the group's coordinator. A group with members keeps its offsets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.admin.groups_api import GroupApi, GroupsApi, error_of, share_groups_needed
from kwire.engine.admin.share_group_results import SharePartitionOffsetInfo
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.api_keys import (
    ALTER_SHARE_GROUP_OFFSETS,
    DELETE_SHARE_GROUP_OFFSETS,
    DESCRIBE_SHARE_GROUP_OFFSETS,
)

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    GroupRow = protocol.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
    PartitionRow = GroupRow.DescribeShareGroupOffsetsResponseTopic.DescribeShareGroupOffsetsResponsePartition

Offsets = dict[TopicPartition, SharePartitionOffsetInfo | None]


class ListShareGroupOffsets(GroupsApi[Offsets]):
    """How far each group is in the partitions `wanted` of it, None: in all that it was assigned once; None instead of
    an offset where it has not begun."""

    api_key = DESCRIBE_SHARE_GROUP_OFFSETS

    def __init__(self, wanted: Mapping[str, Sequence[TopicPartition] | None]) -> None:
        super().__init__(list(wanted))
        self._wanted = wanted

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DescribeShareGroupOffsetsRequest:
        made = protocol.DescribeShareGroupOffsetsRequest
        group = made.DescribeShareGroupOffsetsRequestGroup
        topic = group.DescribeShareGroupOffsetsRequestTopic

        def topics(wanted: Sequence[TopicPartition] | None) -> list[Any] | None:
            if wanted is None:
                return None
            by_topic = _by_topic((tp, tp.partition) for tp in wanted)
            return [topic(topic_name=name, partitions=numbers) for name, numbers in by_topic.items()]

        return made(groups=[group(group_id=key, topics=topics(self._wanted[key])) for key in keys])

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DescribeShareGroupOffsetsResponse, version: int
    ) -> Mapping[str, Offsets | KafkaError]:
        return by_key(((group.group_id, _offsets(group)) for group in response.groups), self.what)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        """Of one group, its error has those of its partitions."""
        one = error.failures.get(self._groups[0], error) if len(self._groups) == 1 else error
        return share_groups_needed(one)


def _offsets(group: GroupRow) -> Offsets | KafkaError:
    what = f"the offsets of share group {group.group_id!r}"
    if group.error_code:
        return errors.broker.error_for(group.error_code, _with(what, group.error_message))
    told = [
        (TopicPartition(topic.topic_name, row.partition_index), row)
        for topic in group.topics
        for row in topic.partitions
    ]
    rows = dict(told)
    error = error_of(what, *_codes(told, what))
    return error or {tp: _info(rows[tp]) for tp in sorted(rows)}


def _info(row: PartitionRow) -> SharePartitionOffsetInfo | None:
    if row.start_offset < 0:
        return None
    epoch = None if row.leader_epoch < 0 else row.leader_epoch
    return SharePartitionOffsetInfo(row.start_offset, epoch, None if row.lag < 0 else row.lag)


class AlterShareGroupOffsets(GroupApi[None]):
    """Has the group go on at these offsets."""

    api_key = ALTER_SHARE_GROUP_OFFSETS

    def __init__(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        super().__init__(group_id)
        self._offsets = offsets

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.AlterShareGroupOffsetsRequest:
        made = protocol.AlterShareGroupOffsetsRequest
        topic = made.AlterShareGroupOffsetsRequestTopic
        row = topic.AlterShareGroupOffsetsRequestPartition
        by_topic = _by_topic(
            (tp, row(partition_index=tp.partition, start_offset=offset)) for tp, offset in self._offsets.items()
        )
        return made(
            group_id=self._group_id,
            topics=[topic(topic_name=name, partitions=partitions) for name, partitions in by_topic.items()],
        )

    @override
    def result(
        self, keys: Sequence[str], response: protocol.AlterShareGroupOffsetsResponse, version: int
    ) -> Mapping[str, None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, _with(self.what, response.error_message))
        told = [
            (TopicPartition(topic.topic_name, row.partition_index), row)
            for topic in response.responses
            for row in topic.partitions
        ]
        self.raise_all(self._offsets, *_codes(told, self.what))
        return dict.fromkeys(keys)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return share_groups_needed(error)


class DeleteShareGroupOffsets(GroupApi[None]):
    """Has the group begin anew in these topics."""

    api_key = DELETE_SHARE_GROUP_OFFSETS

    def __init__(self, group_id: str, topics: Sequence[str]) -> None:
        super().__init__(group_id)
        self._topics = topics

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DeleteShareGroupOffsetsRequest:
        made = protocol.DeleteShareGroupOffsetsRequest
        row = made.DeleteShareGroupOffsetsRequestTopic
        return made(group_id=self._group_id, topics=[row(topic_name=name) for name in self._topics])

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DeleteShareGroupOffsetsResponse, version: int
    ) -> Mapping[str, None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, _with(self.what, response.error_message))
        self.raise_all(self._topics, *_codes([(row.topic_name, row) for row in response.responses], self.what))
        return dict.fromkeys(keys)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return share_groups_needed(error)


def _codes(
    told: Sequence[tuple[Any, Any]], what: str
) -> tuple[Mapping[Any, int | KafkaError], Mapping[Any, str | None]]:
    """The error codes of rows, and what the broker says about them."""
    return by_key(((key, row.error_code) for key, row in told), what), {key: row.error_message for key, row in told}


def _with(what: str, message: str | None) -> str:
    return f"{what}: {message}" if message else what


def _by_topic(rows: Iterable[tuple[TopicPartition, Any]]) -> dict[str, list[Any]]:
    topics: dict[str, list[Any]] = defaultdict(list)
    for tp, row in rows:
        topics[tp.topic].append(row)
    return topics
