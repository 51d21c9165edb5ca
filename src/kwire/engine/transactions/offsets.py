"""Offsets of a group that a transaction commits (KIP-447): one call of the user, and its two requests.

Layer 3, no I/O. With transaction.version 2 TxnOffsetCommit adds the group to the transaction by itself; before that
AddOffsetsToTxn adds it at the transaction's coordinator first. A coordinator before Kafka 2.5 does not learn who the
member is, so it cannot fence one that has lost its partitions.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire import protocol
from kwire._typing import Any
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.committable import CommittableOffsets, committable
from kwire.engine.groups.membership import GroupMetadata
from kwire.engine.groups.tenure import ConsumerGroupMetadata, checked
from kwire.engine.transactions.outcome import Outcome
from kwire.errors import CommitFailedError, ConfigError

_Topic = protocol.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
_Partition = _Topic.TxnOffsetCommitRequestPartition

_FIRST_WITH_MEMBERS = 3

BEFORE_V2 = range(5)
V2 = range(6)
"""Version 5 adds the group to the transaction; 6 has ids of topics, which the call has not."""

NO_FENCING = (
    "the coordinator of group {group!r} is from before Kafka 2.5, and does not check that this consumer still owns the "
    "partitions whose offsets a transaction commits: give each input partition a transactional_id of its own"
)


class SentOffsets:
    """One call: `left` are the partitions that the group's coordinator has not taken yet."""

    def __init__(self, offsets: CommittableOffsets, group: GroupMetadata) -> None:
        self.outcome = Outcome("send_offsets_to_transaction")
        self.left = dict(offsets)
        self.group = group
        self.is_added = False
        """The transaction's coordinator knows the group, or need not know it."""
        self.is_asked = False
        """It was asked, and has not answered."""

    def commit_message(
        self, transactional_id: str, producer_id: int, epoch: int, warn: Callable[[str], None], version: int
    ) -> protocol.TxnOffsetCommitRequest:
        """Asks the group's coordinator to store them."""
        by_topic: dict[str, list[_Partition]] = {}
        for tp, row in self.left.items():
            by_topic.setdefault(tp.topic, []).append(
                _Partition(
                    partition_index=tp.partition,
                    committed_offset=row.offset,
                    committed_leader_epoch=-1 if row.leader_epoch is None else row.leader_epoch,
                    committed_metadata=row.metadata,
                )
            )
        message = protocol.TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=self.group.group_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            topics=[_Topic(name=name, partitions=rows) for name, rows in by_topic.items()],
        )
        if version >= _FIRST_WITH_MEMBERS:
            message.generation_id_or_member_epoch = self.group.generation_id
            message.member_id = self.group.member_id
            message.group_instance_id = self.group.group_instance_id
        elif self.group.member_id:
            warn(NO_FENCING.format(group=self.group.group_id))
        return message

    def take(self, response: protocol.TxnOffsetCommitResponse) -> list[tuple[int, TopicPartition]]:
        """Takes off what was stored; returns the error codes of the others."""
        found = []
        for topic in response.topics:
            for row in topic.partitions:
                tp = TopicPartition(topic.name, row.partition_index)
                if row.error_code:
                    found.append((row.error_code, tp))
                else:
                    self.left.pop(tp, None)
        return found


def member_of(group: Any) -> GroupMetadata:
    """The group that a user passed."""
    if isinstance(group, str) or not isinstance(getattr(group, "group_id", None), str) or not group.group_id:
        raise ConfigError(
            f"{group!r} is not the metadata of a consumer group: give what Consumer.group_metadata() returns"
        )
    if isinstance(group, ConsumerGroupMetadata):
        return checked(group)
    return checked(
        GroupMetadata(
            group.group_id,
            getattr(group, "generation_id", -1),
            getattr(group, "member_id", "") or "",
            getattr(group, "group_instance_id", None),
        )
    )


def why_late(given: object, rows: CommittableOffsets, group: GroupMetadata) -> CommitFailedError | None:
    """Why offsets that a user passed are not this consumer's to commit any more, as far as the consumer knows."""
    return group.why_not(given, rows) if isinstance(group, ConsumerGroupMetadata) else None


def offsets_of(given: object) -> CommittableOffsets:
    """The offsets that a user passed."""
    found = committable(given, "offsets")
    if found is None:
        raise ConfigError("offsets=None: expected records or a mapping {(topic, partition): offset}")
    return found
