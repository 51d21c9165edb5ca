"""`__consumer_offsets`, record types 0 to 2: committed offsets and classic groups.

    key     type int16, then the fields of the key
    value   version int16, then the fields of the value; no value deletes what the key names

    type 0  offsets, in 0.8.2; type 1 since 0.9; type 2 groups, since 0.9
    OffsetCommitValue   v1 an expiry of its own (0.9 to 2.0), v2 without, v3 the leader's epoch (KIP-320), v4 flexible
                        and with a tag for the topic's id
    GroupMetadataValue  v1 rebalance_timeout, v2 current_state_timestamp, v3 static members (KIP-345), v4 flexible

Apache's definitions call type 0 with its value legacy; older readers took v0 of the value for type 1, too.
Source: Apache's definitions of 4.4.0; those of 2.8.2 and 3.9.2 are the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bytes_, i32, i64, string, uuid
from kwire.schema.logs.base import RecordKey, RecordValue
from kwire.schema.messages import Struct

__all__ = [
    "GroupMetadataKey",
    "GroupMetadataValue",
    "LegacyOffsetCommitKey",
    "LegacyOffsetCommitValue",
    "OffsetCommitKey",
    "OffsetCommitValue",
]


class LegacyOffsetCommitKey(RecordKey, key=0, versions="0"):
    """Type 0: whose offset, in which partition."""

    group: str = string("0", default="")
    topic: str = string("0", default="")
    partition: int = i32("0", default=0)


class LegacyOffsetCommitValue(RecordValue, key=0, versions="0"):
    """The offset to go on from."""

    offset: int = i64("0", default=0)
    metadata: str = string("0", default="")
    commit_timestamp: int = i64("0", default=0)


class OffsetCommitKey(RecordKey, key=1, versions="0"):
    """Type 1: whose offset, in which partition."""

    group: str = string("0", default="")
    topic: str = string("0", default="")
    partition: int = i32("0", default=0)


class OffsetCommitValue(RecordValue, key=1, versions="0-4", flexible="4+"):
    """The offset to go on from. `expire_timestamp` is -1 where the broker's retention rules."""

    offset: int = i64("0+", default=0)
    leader_epoch: int = i32("3+", default=-1, ignorable=True)
    metadata: str = string("0+", default="")
    commit_timestamp: int = i64("0+", default=0)
    expire_timestamp: int = i64("1", default=-1, ignorable=True)
    topic_id: UUID = uuid("4+", default=NO_UUID, tag=0, ignorable=True)


class GroupMetadataKey(RecordKey, key=2, versions="0"):
    """Type 2: which group."""

    group: str = string("0", default="")


class GroupMetadataValue(RecordValue, key=2, versions="0-4", flexible="4+"):
    """A generation of a classic group: its members, what they wanted and what they were given."""

    class MemberMetadata(Struct):
        member_id: str = string("0+", default="")
        group_instance_id: str | None = string("3+", default=None, nullable="3+", ignorable=True)
        client_id: str = string("0+", default="")
        client_host: str = string("0+", default="")
        rebalance_timeout: int = i32("1+", default=-1, ignorable=True)
        session_timeout: int = i32("0+", default=0)
        subscription: bytes = bytes_("0+", default=b"")
        assignment: bytes = bytes_("0+", default=b"")

    protocol_type: str = string("0+", default="")
    generation: int = i32("0+", default=0)
    protocol: str | None = string("0+", default="", nullable="0+")
    leader: str | None = string("0+", default="", nullable="0+")
    current_state_timestamp: int = i64("2+", default=-1, ignorable=True)
    members: Sequence[MemberMetadata] = array(MemberMetadata, "0+", default=())
