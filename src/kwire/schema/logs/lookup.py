"""From the bytes of a log record to its messages: the topic and the first numbers of the bytes say which.

For tools that show a log. What is not known is said, not refused: a `LogPart` has then no message, and its `problem`
says why. Nothing here knows a field.

Sources: Apache's enums CoordinatorRecordType (of groups, transactions and shares), MetadataRecordType and
ControlRecordType of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from kwire import errors
from kwire._typing import NamedTuple
from kwire.schema.control_records import CONTROL_RECORD_TYPES, ControlRecordTypeSchema, EndTxnMarker
from kwire.schema.logs.envelopes import METADATA_FRAME_VERSION
from kwire.schema.logs.parts import LogPart, read_part
from kwire.schema.messages import Message

__all__ = ["LogRecord", "decode_log_record"]

_GROUPS = {
    0: ("consumer_offsets", "LegacyOffsetCommit"),
    1: ("consumer_offsets", "OffsetCommit"),
    2: ("consumer_offsets", "GroupMetadata"),
    3: ("consumer_groups", "ConsumerGroupMetadata"),
    4: ("consumer_groups", "ConsumerGroupPartitionMetadata"),
    5: ("consumer_groups", "ConsumerGroupMemberMetadata"),
    6: ("consumer_groups", "ConsumerGroupTargetAssignmentMetadata"),
    7: ("consumer_groups", "ConsumerGroupTargetAssignmentMember"),
    8: ("consumer_groups", "ConsumerGroupCurrentMemberAssignment"),
    9: ("share_groups", "ShareGroupPartitionMetadata"),
    10: ("share_groups", "ShareGroupMemberMetadata"),
    11: ("share_groups", "ShareGroupMetadata"),
    12: ("share_groups", "ShareGroupTargetAssignmentMetadata"),
    13: ("share_groups", "ShareGroupTargetAssignmentMember"),
    14: ("share_groups", "ShareGroupCurrentMemberAssignment"),
    15: ("share_groups", "ShareGroupStatePartitionMetadata"),
    16: ("consumer_groups", "ConsumerGroupRegularExpression"),
    17: ("streams_groups", "StreamsGroupMetadata"),
    19: ("streams_groups", "StreamsGroupMemberMetadata"),
    20: ("streams_groups", "StreamsGroupTargetAssignmentMetadata"),
    21: ("streams_groups", "StreamsGroupTargetAssignmentMember"),
    22: ("streams_groups", "StreamsGroupCurrentMemberAssignment"),
    23: ("streams_groups", "StreamsGroupTopology"),
}
_TRANSACTIONS = {0: ("transaction_state", "TransactionLog")}
_SHARES = {0: ("share_state", "ShareSnapshot"), 1: ("share_state", "ShareUpdate")}
_METADATA = {
    0: ("metadata_nodes", "RegisterBroker"),
    1: ("metadata_nodes", "UnregisterBroker"),
    2: ("metadata_topics", "Topic"),
    3: ("metadata_topics", "Partition"),
    4: ("metadata_settings", "Config"),
    5: ("metadata_topics", "PartitionChange"),
    7: ("metadata_nodes", "FenceBroker"),
    8: ("metadata_nodes", "UnfenceBroker"),
    9: ("metadata_topics", "RemoveTopic"),
    10: ("metadata_settings", "DelegationToken"),
    11: ("metadata_settings", "UserScramCredential"),
    12: ("metadata_settings", "FeatureLevel"),
    14: ("metadata_settings", "ClientQuota"),
    15: ("metadata_settings", "ProducerIds"),
    17: ("metadata_nodes", "BrokerRegistrationChange"),
    18: ("metadata_settings", "AccessControlEntry"),
    19: ("metadata_settings", "RemoveAccessControlEntry"),
    20: ("metadata_settings", "NoOp"),
    21: ("metadata_nodes", "ZkMigrationState"),
    22: ("metadata_settings", "RemoveUserScramCredential"),
    23: ("metadata_settings", "BeginTransaction"),
    24: ("metadata_settings", "EndTransaction"),
    25: ("metadata_settings", "AbortTransaction"),
    26: ("metadata_settings", "RemoveDelegationToken"),
    27: ("metadata_nodes", "RegisterController"),
    28: ("metadata_topics", "ClearElr"),
    29: ("metadata_nodes", "UnregisterController"),
}
_REMOTE_LOG = {
    0: ("remote_log_metadata", "RemoteLogSegmentMetadata"),
    1: ("remote_log_metadata", "RemoteLogSegmentMetadataUpdate"),
    2: ("remote_log_metadata", "RemotePartitionDeleteMetadata"),
    3: ("remote_log_metadata", "RemoteLogSegmentMetadataSnapshot"),
}
_COORDINATORS = {"__consumer_offsets": _GROUPS, "__transaction_state": _TRANSACTIONS, "__share_group_state": _SHARES}
_KEYLESS = {"__cluster_metadata": _METADATA, "__remote_log_metadata": _REMOTE_LOG}

_Types = Mapping[int, tuple[str, str]]
_TYPE = (("type", "int16"),)
_VERSION = (("version", "int16"),)
_FRAME = (("frame_version", "uvarint"), ("type", "uvarint"), ("version", "uvarint"))


class LogRecord(NamedTuple):
    """The two halves of a record; one that is not there (a tombstone's value, say) is None."""

    key: LogPart | None
    value: LogPart | None


def decode_log_record(
    topic: str, key: bytes | None, value: bytes | None, *, is_control: bool = False
) -> LogRecord | None:
    """The messages of a record of one of Kafka's own topics, or of a control batch of any topic.

    The topics are `__consumer_offsets`, `__transaction_state`, `__share_group_state`, `__cluster_metadata` and
    `__remote_log_metadata`. None for a record of any other topic: what is in it is for its users to say. Raises nothing
    for what the bytes hold, see `LogPart.problem`.
    """
    if is_control:
        return _control_record(key, value)
    if topic in _COORDINATORS:
        return _coordinator_record(topic, _COORDINATORS[topic], key, value)
    if topic in _KEYLESS:
        return _keyless_record(topic, _KEYLESS[topic], key, value)
    return None


def _class(types: _Types, type_: int, ending: str, where: str) -> type[Message]:
    found = types.get(type_)
    if found is None:
        known = ", ".join(map(str, types))
        raise errors.UnknownVersionError(f"{where} has no record type {type_} that kwire knows; it knows {known}")
    return _message_of(found[0], found[1] + ending)


@cache
def _message_of(room: str, name: str) -> type[Message]:
    made: type[Message] = getattr(import_module(f"kwire.schema.logs.{room}"), name)
    return made


def _coordinator_record(topic: str, types: _Types, key: bytes | None, value: bytes | None) -> LogRecord:
    types_read: list[int] = []

    def key_of(words: Mapping[str, int]) -> tuple[type[Message], int]:
        types_read.append(words["type"])
        return _class(types, words["type"], "Key", topic), 0

    def value_of(words: Mapping[str, int]) -> tuple[type[Message], int]:
        if not types_read:
            raise errors.UnknownVersionError(f"a value of {topic} whose key does not say its type")
        return _class(types, types_read[0], "Value", topic), words["version"]

    key_part = None if key is None else read_part(key, _TYPE, key_of)
    return LogRecord(key_part, None if value is None else read_part(value, _VERSION, value_of))


def _keyless_record(topic: str, types: _Types, key: bytes | None, value: bytes | None) -> LogRecord:
    def no_key(_: Mapping[str, int]) -> tuple[type[Message], int]:
        raise errors.UnknownVersionError(f"records of {topic} have no key")

    def value_of(words: Mapping[str, int]) -> tuple[type[Message], int]:
        if words["frame_version"] != METADATA_FRAME_VERSION:
            raise errors.UnknownVersionError(
                f"{topic} has no frame version {words['frame_version']}; kwire knows {METADATA_FRAME_VERSION}"
            )
        return _class(types, words["type"], "Record", topic), words["version"]

    key_part = None if key is None else read_part(key, (), no_key)
    return LogRecord(key_part, None if value is None else read_part(value, _FRAME, value_of))


def _control_record(key: bytes | None, value: bytes | None) -> LogRecord:
    key_part = None if key is None else read_part(key, _VERSION, lambda _: (ControlRecordTypeSchema, 0))
    if value is None:
        return LogRecord(key_part, None)
    kind = key_part.message.type if key_part and isinstance(key_part.message, ControlRecordTypeSchema) else None
    found = CONTROL_RECORD_TYPES.get(kind) if kind is not None else None

    def value_of(_: Mapping[str, int]) -> tuple[type[Message], int]:
        if found is None:
            known = ", ".join(f"{number} {each.name}" for number, each in CONTROL_RECORD_TYPES.items())
            raise errors.UnknownVersionError(f"a control record of type {kind}; kwire knows {known}")
        if found.message is EndTxnMarker:
            return EndTxnMarker, 0
        return found.message, int.from_bytes(value[:2], "big", signed=True)

    expected = _VERSION if found is not None and found.message is EndTxnMarker else ()
    return LogRecord(key_part, read_part(value, expected, value_of))
