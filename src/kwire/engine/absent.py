"""Names that a client does not have, but that its users reach for: those of other clients, and what is not there yet.

Layer 3. Reading such a name raises an AttributeError that says what to do instead, so `hasattr` is False. They are
class attributes rather than a `__getattr__`, which would make every lookup on the class slower, `send` included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwire._typing import TypeVar
from kwire.errors import NotInThisVersionError

Client = TypeVar("Client")

_GROUPS = "groups are not in this version of kwire"
_TRANSACTIONS = "transactions are not in this version of kwire"
_POSITIONS = f"it needs a consumer group, and {_GROUPS}: keep positions by position() and seek()"

PRODUCER = {
    **dict.fromkeys(
        (
            "abort_transaction",
            "begin_transaction",
            "commit_transaction",
            "init_transactions",
            "send_offsets_to_transaction",
            "transaction",
        ),
        _TRANSACTIONS,
    ),
    "list_topics": "Admin(...).describe_topics() does that",
    "metrics": "metrics are not in this version of kwire",
    "partitions_for": "Consumer(...).partitions_for(topic) does that",
    "poll": "not needed: callbacks run and records leave by themselves",
    "produce": "it is send(topic, value, key=..., headers=...) here; it returns a Delivery",
    "send_and_wait": "it is `await send(...)` in kwire.aio, and send(...).result() without asyncio",
    "start": "not needed: the first send connects",
    "stop": "it is close() here",
}

CONSUMER = {
    **dict.fromkeys(("commit", "commit_async", "committed"), _POSITIONS),
    **dict.fromkeys(("enforce_rebalance", "group_metadata", "lag", "store_offsets", "subscription"), _GROUPS),
    "consume": "it is poll(timeout=..., max_records=...) here",
    "get_watermark_offsets": "beginning_offsets() and end_offsets() do that",
    "getmany": "it is poll(timeout=..., max_records=...) here",
    "getone": "it is poll(timeout=..., max_records=1) here, or a loop over the consumer",
    "list_topics": "Admin(...).describe_topics() does that",
    "metrics": "metrics are not in this version of kwire",
    "start": "not needed: the first poll connects",
    "stop": "it is close() here",
    "topics": "Admin(...).list_topics() does that",
}

ADMIN = {
    **dict.fromkeys(
        (
            "alter_consumer_group_offsets",
            "delete_consumer_group_offsets",
            "delete_consumer_groups",
            "describe_consumer_groups",
            "lag",
            "list_consumer_group_offsets",
            "list_consumer_groups",
            "list_groups",
            "remove_members_from_consumer_group",
        ),
        _GROUPS,
    ),
    **dict.fromkeys(
        (
            "alter_configs",
            "create_acls",
            "create_partitions",
            "delete_acls",
            "delete_records",
            "describe_acls",
            "describe_cluster",
            "describe_configs",
            "elect_leaders",
            "incremental_alter_configs",
        ),
        "not in this version of kwire; `kwire.protocol` has the messages",
    ),
}


class Absent:
    """Stands under the name of an attribute that is not there."""

    __slots__ = ("_name", "_text")

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text

    def __get__(self, instance: object, owner: type) -> object:
        raise NotInThisVersionError(f"{owner.__name__}.{self._name}(): {self._text}")


def without(names: Mapping[str, str]) -> Callable[[type[Client]], type[Client]]:
    """A class decorator: the class says of each of these names what to do instead, unless it has the name."""

    def add(client: type[Client]) -> type[Client]:
        for name in names:
            if not hasattr(client, name):
                setattr(client, name, Absent(name, names[name]))
        return client

    return add
