"""Subscriptions and assignments as the bytes that members of a classic group hand to each other.

Layer 3, no I/O; the layouts are in `schema/group_blobs.py`. Written as Java's client writes them: version 3, topics
sorted, owned partitions sorted and grouped by topic, assigned ones grouped by topic in the order of their first. A
newer version than 3 is read as 3, as its fields follow.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwire._typing import TYPE_CHECKING, TypeVar
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.contract import NO_GENERATION, Assignment, MemberSubscription, partitions_of
from kwire.errors import UnknownVersionError
from kwire.protocol import group_blobs

if TYPE_CHECKING:
    from kwire.schema.group_blobs import ConsumerProtocolAssignment, ConsumerProtocolSubscription, MemberBlob

    Blob = TypeVar("Blob", bound=MemberBlob)
    TopicRows = Iterable[
        ConsumerProtocolAssignment.TopicPartition
        | ConsumerProtocolSubscription.TopicPartition
        | group_blobs.StickyAssignorUserData.TopicPartition
    ]

NEWEST = 3
_VERSION_BYTES = 2


def encode_subscription(subscription: MemberSubscription, version: int = NEWEST) -> bytes:
    """A member's metadata for JoinGroup."""
    message = group_blobs.ConsumerProtocolSubscription
    owned = by_topic(sorted(subscription.owned_partitions))
    return message(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[message.TopicPartition(topic=topic, partitions=of) for topic, of in owned.items()],
        generation_id=subscription.generation,
        rack_id=subscription.rack_id,
    ).to_blob(version)


def decode_subscription(data: bytes, group_instance_id: str | None = None) -> MemberSubscription:
    """A member's metadata from JoinGroup; the instance id stands beside it there. Raises CodecError."""
    message = _decode(group_blobs.ConsumerProtocolSubscription, data)
    return MemberSubscription(
        message.topics,
        message.user_data,
        topic_partitions(message.owned_partitions),
        max(message.generation_id, NO_GENERATION),
        message.rack_id or None,
        group_instance_id,
    )


def encode_assignment(assignment: Assignment, version: int = NEWEST) -> bytes:
    """A member's assignment for SyncGroup."""
    message = group_blobs.ConsumerProtocolAssignment
    rows = by_topic(assignment.partitions)
    return message(
        assigned_partitions=[message.TopicPartition(topic=topic, partitions=of) for topic, of in rows.items()],
        user_data=assignment.user_data,
    ).to_blob(version)


def decode_assignment(data: bytes) -> Assignment:
    """The assignment in SyncGroup; empty where the leader assigned this member nothing. Raises CodecError."""
    if not data:
        return Assignment(())
    message = _decode(group_blobs.ConsumerProtocolAssignment, data)
    return Assignment(topic_partitions(message.assigned_partitions), message.user_data)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partitions grouped by topic, topics in the order of their first partition."""
    rows: dict[str, list[int]] = {}
    for topic, partition in partitions:
        row = rows.get(topic)
        if row is None:
            rows[topic] = [partition]
        else:
            row.append(partition)
    return rows


def topic_partitions(rows: TopicRows) -> list[TopicPartition]:
    """The partitions of rows with a topic and its partitions."""
    found: list[TopicPartition] = []
    for row in rows:
        found += partitions_of(row.topic, row.partitions)
    return found


def _decode(kind: type[Blob], data: bytes) -> Blob:
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if version < 0:
        raise UnknownVersionError(f"{kind.__name__} of version {version}")
    return kind.decode(data[_VERSION_BYTES:], min(version, NEWEST), strict=False)
