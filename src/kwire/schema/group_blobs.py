"""The bytes that members of a classic group hand to each other through their coordinator.

    protocol type        "consumer"                       "connect" (the workers of Kafka Connect)
    member metadata      int16 version,                   int16 version,
      JoinGroup            ConsumerProtocolSubscription     ConnectWorkerState
    member assignment    int16 version,                   int16 version,
      SyncGroup            ConsumerProtocolAssignment       ConnectAssignment
    user_data            what the assignor's name says    there is none

The coordinator does not read them. Newer versions only add fields at the end, so that a reader takes the fields it
knows. The user data of the assignors "sticky" and "cooperative-sticky" carry no version; the newer of the first has one
field more. Of a Connect worker v1 is cooperative (KIP-415), and v2 the same with signed requests (KIP-507); its
`allocation` is the assignment that it has, with its version.

Sources: KIP-429 (v1), KIP-792 (v2), KIP-881 (v3), Apache's definitions of 4.4.0; KIP-54, KIP-341 and Apache's assignors
for their own data; Apache's ConnectProtocol and IncrementalCooperativeConnectProtocol of 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors
from kwire.schema.fields import array, bytes_, i16, i32, i32s, i64, string, strings
from kwire.schema.logs.envelopes import int16_word
from kwire.schema.logs.parts import LogPart, read_part
from kwire.schema.messages import Message, Struct

__all__ = [
    "ConnectAssignment",
    "ConnectWorkerState",
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "CooperativeStickyAssignorUserData",
    "MemberBlob",
    "StickyAssignorUserData",
    "decode_member_assignment",
    "decode_member_metadata",
    "decode_user_data",
]

_CONSUMER, _CONNECT = "consumer", "connect"
_VERSION = (("version", "int16"),)


class MemberBlob(Message, abstract=True):
    """What follows a version of its own in member metadata and assignments."""

    def to_blob(self, version: int) -> bytes:
        """The bytes for JoinGroup or SyncGroup: the version, then the fields."""
        return int16_word(version) + self.encode(version)


class ConsumerProtocolSubscription(MemberBlob, versions="0-3"):
    """What a member wants to read, and what it owns."""

    class TopicPartition(Struct):
        topic: str = string("1+", default="")
        partitions: Sequence[int] = i32s("1+", default=())

    topics: Sequence[str] = strings("0+", default=())
    user_data: bytes | None = bytes_("0+", default=None, nullable="0+")
    owned_partitions: Sequence[TopicPartition] = array(TopicPartition, "1+", default=(), ignorable=True)
    generation_id: int = i32("2+", default=-1, ignorable=True)
    rack_id: str | None = string("3+", default=None, nullable="3+", ignorable=True)


class ConsumerProtocolAssignment(MemberBlob, versions="0-3"):
    """What a member is to read."""

    class TopicPartition(Struct):
        topic: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    assigned_partitions: Sequence[TopicPartition] = array(TopicPartition, "0+", default=())
    user_data: bytes | None = bytes_("0+", default=None, nullable="0+")


class StickyAssignorUserData(Message, versions="0-1"):
    """What a member of the assignor "sticky" owned, and since v1 in which generation."""

    class TopicPartition(Struct):
        topic: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    previous_assignment: Sequence[TopicPartition] = array(TopicPartition, "0+", default=())
    generation: int = i32("1+", default=-1, ignorable=True)


class CooperativeStickyAssignorUserData(Message, versions="0"):
    """In which generation a member of the assignor "cooperative-sticky" owned what its subscription says."""

    generation: int = i32("0+", default=-1)


class ConnectWorkerState(MemberBlob, versions="0-2"):
    """Where a worker of Connect is reached, how far it has read the configurations, and since v1 what it runs."""

    url: str = string("0+", default="")
    config_offset: int = i64("0+", default=0)
    allocation: bytes | None = bytes_("1+", default=None, nullable="1+", ignorable=True)


class ConnectAssignment(MemberBlob, versions="0-2"):
    """What a worker of Connect is to run. A task -1 is the connector itself."""

    class ConnectorAssignment(Struct):
        connector: str = string("0+", default="")
        tasks: Sequence[int] = i32s("0+", default=())

    error: int = i16("0+", default=0)
    leader: str = string("0+", default="")
    leader_url: str = string("0+", default="")
    config_offset: int = i64("0+", default=0)
    assignment: Sequence[ConnectorAssignment] | None = array(ConnectorAssignment, "0+", default=(), nullable="1+")
    revoked: Sequence[ConnectorAssignment] | None = array(
        ConnectorAssignment, "1+", default=None, nullable="1+", ignorable=True
    )
    delay: int = i32("1+", default=0, ignorable=True)


def decode_member_metadata(data: bytes, *, protocol_type: str = _CONSUMER) -> LogPart | None:
    """The ConsumerProtocolSubscription or ConnectWorkerState in a member's metadata.

    None when empty or of a protocol type that is not known. Raises nothing for what the bytes hold, see
    `LogPart.problem`.
    """
    return _member_blob({_CONSUMER: ConsumerProtocolSubscription, _CONNECT: ConnectWorkerState}, data, protocol_type)


def decode_member_assignment(data: bytes, *, protocol_type: str = _CONSUMER) -> LogPart | None:
    """The ConsumerProtocolAssignment or ConnectAssignment in a member's assignment.

    None when empty or of a protocol type that is not known. Raises nothing for what the bytes hold, see
    `LogPart.problem`.
    """
    return _member_blob({_CONSUMER: ConsumerProtocolAssignment, _CONNECT: ConnectAssignment}, data, protocol_type)


def decode_user_data(data: bytes, assignor: str) -> LogPart | None:
    """The user data of a subscription; None when empty or of an assignor other than the two named above.

    Raises nothing for what the bytes hold, see `LogPart.problem`.
    """
    if not data:
        return None
    if assignor == "cooperative-sticky":
        return read_part(data, (), lambda _: (CooperativeStickyAssignorUserData, 0))
    if assignor != "sticky":
        return None
    found = read_part(data, (), lambda _: (StickyAssignorUserData, 1))
    if isinstance(found.problem, errors.TruncatedError) and found.problem.field == "generation":
        return read_part(data, (), lambda _: (StickyAssignorUserData, 0))
    return found


def _member_blob(classes: Mapping[str, type[MemberBlob]], data: bytes, protocol_type: str) -> LogPart | None:
    cls = classes.get(protocol_type)
    if not data or cls is None:
        return None
    return read_part(data, _VERSION, lambda words: (cls, min(words["version"], cls.__versions__[-1])))
