"""Which bytes fields hold a message of their own: what members of a group hand each other, and Kafka's own topics.

Finds the class and the version; `walk` reads the fields. What is not known stays bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from kwire.schema.api_keys import DESCRIBE_GROUPS, JOIN_GROUP, SYNC_GROUP
from kwire.schema.group_blobs import (
    ConnectAssignment,
    ConnectWorkerState,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kwire.schema.messages import Message

__all__ = ["GroupBlob", "group_blob"]

_CONSUMER = "consumer"
# By protocol type.
_METADATA: dict[str, type[Message]] = {_CONSUMER: ConsumerProtocolSubscription, "connect": ConnectWorkerState}
_ASSIGNMENT: dict[str, type[Message]] = {_CONSUMER: ConsumerProtocolAssignment, "connect": ConnectAssignment}
_GROUP_BLOBS = {
    (JOIN_GROUP, "metadata"): _METADATA,
    (SYNC_GROUP, "assignment"): _ASSIGNMENT,
    (DESCRIBE_GROUPS, "member_metadata"): _METADATA,
    (DESCRIBE_GROUPS, "member_assignment"): _ASSIGNMENT,
}


class GroupBlob(NamedTuple):
    """The message that follows the version of a blob; of a newer version only the fields that are known."""

    message: type[Message]
    version: int


def group_blob(api_key: int, name: str, data: memoryview, protocol_type: str | None) -> GroupBlob | None:
    """What the bytes field `name` of a group request or response holds; None when it is not for kwire to say.

    `protocol_type` is what the message said before, None when it did not.
    """
    message = _GROUP_BLOBS.get((api_key, name), {}).get(_CONSUMER if protocol_type is None else protocol_type)
    if message is None or len(data) < 2:
        return None
    version = int.from_bytes(data[:2], "big", signed=True)
    if version < 0:
        return None
    return GroupBlob(message, min(version, message.__versions__[-1]))
