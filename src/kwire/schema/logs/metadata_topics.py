"""`__cluster_metadata`, the records of topics and partitions (KIP-500, KIP-631).

    key     none
    value   frame version uvarint (1), record type uvarint, version uvarint, then the fields (flexible)

    PartitionRecord, PartitionChangeRecord   v1 directories (KIP-858), v2 eligible leader replicas (KIP-966)

In a change a field that is not there stays as it was. Source: Apache's definitions of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, i8, i32, i32s, string, uuid, uuids
from kwire.schema.logs.base import MetadataRecord

__all__ = [
    "ClearElrRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "RemoveTopicRecord",
    "TopicRecord",
]


class TopicRecord(MetadataRecord, key=2, versions="0", flexible="0+"):
    """Type 2: a new topic."""

    name: str = string("0+", default="")
    topic_id: UUID = uuid("0+", default=NO_UUID)


class PartitionRecord(MetadataRecord, key=3, versions="0-2", flexible="0+"):
    """Type 3: a new partition. `leader_recovery_state`: 0 recovered, 1 recovering after an unclean election."""

    partition_id: int = i32("0+", default=-1)
    topic_id: UUID = uuid("0+", default=NO_UUID)
    replicas: Sequence[int] = i32s("0+", default=())
    isr: Sequence[int] = i32s("0+", default=())
    removing_replicas: Sequence[int] = i32s("0+", default=())
    adding_replicas: Sequence[int] = i32s("0+", default=())
    leader: int = i32("0+", default=-1)
    leader_recovery_state: int = i8("0+", default=0, tag=0)
    leader_epoch: int = i32("0+", default=-1)
    partition_epoch: int = i32("0+", default=-1)
    directories: Sequence[UUID] = uuids("1+", default=())
    eligible_leader_replicas: Sequence[int] | None = i32s("2+", default=None, nullable="2+", tag=1)
    last_known_elr: Sequence[int] | None = i32s("2+", default=None, nullable="2+", tag=2)


class PartitionChangeRecord(MetadataRecord, key=5, versions="0-2", flexible="0+"):
    """Type 5: what changed of a partition. `leader`: -1 none, -2 as before; `leader_recovery_state`: -1 as before."""

    partition_id: int = i32("0+", default=-1)
    topic_id: UUID = uuid("0+", default=NO_UUID)
    isr: Sequence[int] | None = i32s("0+", default=None, nullable="0+", tag=0)
    leader: int = i32("0+", default=-2, tag=1)
    replicas: Sequence[int] | None = i32s("0+", default=None, nullable="0+", tag=2)
    removing_replicas: Sequence[int] | None = i32s("0+", default=None, nullable="0+", tag=3)
    adding_replicas: Sequence[int] | None = i32s("0+", default=None, nullable="0+", tag=4)
    leader_recovery_state: int = i8("0+", default=-1, tag=5)
    directories: Sequence[UUID] | None = uuids("1+", default=None, nullable="1+", tag=8)
    eligible_leader_replicas: Sequence[int] | None = i32s("2+", default=None, nullable="2+", tag=6)
    last_known_elr: Sequence[int] | None = i32s("2+", default=None, nullable="2+", tag=7)


class RemoveTopicRecord(MetadataRecord, key=9, versions="0", flexible="0+"):
    """Type 9: a topic that is deleted, with its partitions."""

    topic_id: UUID = uuid("0+", default=NO_UUID)


class ClearElrRecord(MetadataRecord, key=28, versions="0", flexible="0+"):
    """Type 28: a topic, or with an empty name every topic, whose eligible leader replicas are forgotten."""

    topic_name: str = string("0+", default="")
