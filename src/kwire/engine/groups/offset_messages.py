"""OffsetCommit and OffsetFetch at every version: from offsets by partition to messages, and back.

Layer 3, no I/O; asks no broker. Topics travel by name up to version 9, by id in version 10 where all ids are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from kwire import protocol
from kwire._codec import KnownAnswer, no_uuid
from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.membership import GroupMetadata
from kwire.schema.api_keys import OFFSET_COMMIT

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.metadata.metadata import Metadata

    CommitPartition = protocol.OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition

_LAST_VERSION_BY_NAME = 9
_FIRST_VERSION_WITH_INSTANCE = 7
_FIRST_VERSION_WITH_REQUIRE_STABLE = 7
_FIRST_VERSION_WITH_GROUPS = 8
_NO_EPOCH = -1


class FetchedOffset(NamedTuple):
    """What a group committed in a partition, None for nothing; or the error code instead."""

    committed: OffsetAndMetadata | None
    code: int


def versions_for(api_key: int, topic_ids: Iterable[UUID]) -> range:
    """The versions that can name topics with these ids, all zeros where one is not known."""
    return _versions_by_name(api_key) if no_uuid() in topic_ids else protocol.APIS[api_key].versions


@cache
def _versions_by_name(api_key: int) -> range:
    return range(protocol.APIS[api_key].versions[0], _LAST_VERSION_BY_NAME + 1)


# -- commit -----------------------------------------------------------------------------------------------------------


class CommitRequest:
    """OffsetCommit of these partitions by that member. `ids` has those of topics where they are known; `versions` can
    name the topics so.

    Most commits of a consumer are of the same partitions as the one before, and so are their answers: one message takes
    the offsets of each, and what an answer says is read once. `codes` are the error codes of the answer that was looked
    at last, by topic and number, and `stores_all` is whether it stores each of the partitions, and has no others.
    """

    def __init__(
        self, partitions: Iterable[TopicPartition], member: GroupMetadata, ids: Mapping[str, UUID] | None = None
    ) -> None:
        made = protocol.OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition
        self.member = member
        self.ids = {} if ids is None else ids
        self._names = {topic_id.int: name for name, topic_id in self.ids.items()}
        self.versions = versions_for(OFFSET_COMMIT, self.ids.values())
        self._partitions = {tp: made(partition_index=tp[1]) for tp in partitions}
        self._last: tuple[int, protocol.OffsetCommitRequest] | None = None
        self.known = KnownAnswer()
        self.codes: dict[tuple[str, int], int] = {}
        self.stores_all = False
        self._looked_at: protocol.OffsetCommitResponse | None = None

    def is_for(
        self, rows: Mapping[TopicPartition, object], member: GroupMetadata, id_of: Callable[[str], UUID]
    ) -> bool:
        """Whether it is of these, whose topics have these ids."""
        return (
            self._partitions.keys() == rows.keys()
            and self.member == member
            and [*map(id_of, self.ids)] == [*self.ids.values()]
        )

    def message(self, rows: Mapping[TopicPartition, OffsetAndMetadata], version: int) -> protocol.OffsetCommitRequest:
        """The message that commits these, of all its partitions; valid until the next one is asked for."""
        for tp, (offset, metadata, epoch) in rows.items():
            partition = self._partitions[tp]
            partition.committed_offset = offset
            partition.committed_leader_epoch = _NO_EPOCH if epoch is None else epoch
            partition.committed_metadata = metadata
        if self._last is None or self._last[0] != version:
            self._last = version, self._made(version)
        return self._last[1]

    def look_at(self, response: protocol.OffsetCommitResponse) -> None:
        """An answer has come."""
        if response is not self._looked_at:
            self.codes = codes = dict(codes_in(response, self._names))
            self.stores_all = codes.keys() == self._partitions.keys() and not any(codes.values())
            self._looked_at = response

    def _made(self, version: int) -> protocol.OffsetCommitRequest:
        made, member = protocol.OffsetCommitRequest, self.member
        topics: dict[str, list[CommitPartition]] = defaultdict(list)
        for tp, partition in self._partitions.items():
            topics[tp[0]].append(partition)
        by_id = version > _LAST_VERSION_BY_NAME
        return made(
            group_id=member.group_id,
            generation_id_or_member_epoch=member.generation_id,
            member_id=member.member_id,
            group_instance_id=member.group_instance_id if version >= _FIRST_VERSION_WITH_INSTANCE else None,
            topics=[
                made.OffsetCommitRequestTopic(topic_id=self.ids[name], partitions=partitions)
                if by_id
                else made.OffsetCommitRequestTopic(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
        )


def codes_in(response: protocol.OffsetCommitResponse, names: Mapping[int, str]) -> list[tuple[tuple[str, int], int]]:
    """The error codes of partitions, by topic and number; `names` has those of topics by the number of their id."""
    return [
        ((name, row.partition_index), row.error_code)
        for topic in response.topics
        for name in (topic.name or names.get(topic.topic_id.int, ""),)
        for row in topic.partitions
    ]


# -- fetch ------------------------------------------------------------------------------------------------------------


def fetch_request(
    partitions: Iterable[TopicPartition] | None,
    member: GroupMetadata,
    metadata: Metadata,
    version: int,
    *,
    require_stable: bool = True,
) -> protocol.OffsetFetchRequest:
    """The request for what the group committed in these partitions; None: in all (from version 2 on).

    The member and its epoch are named only where there are any: then the coordinator checks them.
    """
    made = protocol.OffsetFetchRequest
    stable = require_stable and version >= _FIRST_VERSION_WITH_REQUIRE_STABLE
    topics = None if partitions is None else _by_topic(partitions)
    if version < _FIRST_VERSION_WITH_GROUPS:
        rows = topics and [made.OffsetFetchRequestTopic(name=name, partition_indexes=p) for name, p in topics.items()]
        return made(group_id=member.group_id, topics=None if topics is None else rows or (), require_stable=stable)
    group = made.OffsetFetchRequestGroup
    row = group.OffsetFetchRequestTopics
    by_id = version > _LAST_VERSION_BY_NAME
    asked = group(
        group_id=member.group_id,
        member_id=member.member_id or None,
        member_epoch=member.generation_id,
        topics=None
        if topics is None
        else [
            row(topic_id=metadata.topic_id(name), partition_indexes=numbers)
            if by_id
            else row(name=name, partition_indexes=numbers)
            for name, numbers in topics.items()
        ],
    )
    return made(groups=[asked], require_stable=stable)


def is_about(group_id: str, response: protocol.OffsetFetchResponse, version: int) -> bool:
    """Whether the response has that group's entry; before version 8 it is about the one that was asked for."""
    return version < _FIRST_VERSION_WITH_GROUPS or [row.group_id for row in response.groups] == [group_id]


def group_code_in(response: protocol.OffsetFetchResponse, version: int) -> int:
    """The error code of the whole group."""
    if version < _FIRST_VERSION_WITH_GROUPS:
        return response.error_code
    return response.groups[0].error_code if response.groups else 0


def offsets_in(
    response: protocol.OffsetFetchResponse, names: Mapping[UUID, str], version: int
) -> dict[TopicPartition, FetchedOffset]:
    """The offsets and errors of a response by partition; `names` has those of topics by id."""
    return dict(rows_in(response, names, version))


def rows_in(
    response: protocol.OffsetFetchResponse, names: Mapping[UUID, str], version: int
) -> Iterator[tuple[TopicPartition, FetchedOffset]]:
    """The same, row by row."""
    if version < _FIRST_VERSION_WITH_GROUPS:
        for topic in response.topics:
            for row in topic.partitions:
                yield TopicPartition(topic.name, row.partition_index), _fetched(row)
        return
    for group in response.groups:
        for by_id in group.topics:
            name = by_id.name or names.get(by_id.topic_id, "")
            for found in by_id.partitions:
                yield TopicPartition(name, found.partition_index), _fetched(found)


def _fetched(
    row: protocol.OffsetFetchResponse.OffsetFetchResponseTopic.OffsetFetchResponsePartition
    | protocol.OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics.OffsetFetchResponsePartitions,
) -> FetchedOffset:
    if row.error_code or row.committed_offset < 0:
        return FetchedOffset(None, row.error_code)
    epoch = None if row.committed_leader_epoch < 0 else row.committed_leader_epoch
    return FetchedOffset(OffsetAndMetadata(row.committed_offset, row.metadata or "", epoch), 0)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = defaultdict(list)
    for tp in partitions:
        topics[tp.topic].append(tp.partition)
    return topics
