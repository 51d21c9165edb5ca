"""Names that a client does not have, but that its users reach for: those of other clients, and what is not there yet.

Layer 3, no I/O. Reading the name of such a method raises an AttributeError that says what to do instead, so `hasattr`
is False. They are class attributes rather than a `__getattr__`, which would make every lookup on the class slower,
`send` included. Keywords of other clients are refused where a call checks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kwire._typing import TypeVar
from kwire.errors import UnsupportedError

Client = TypeVar("Client")


class NotNeeded(str):
    """A hint about what a program leaves out."""

    __slots__ = ()


class Missing(str):
    """A hint about what has no counterpart: why, or what to do without it."""

    __slots__ = ()


class Differs(str):
    """A hint about what is done in another way, not by another name."""

    __slots__ = ()


_CONNECTED = Differs("describe_cluster() of an Admin asks the brokers, and `kwire ping` each step of it")
_LOGIN = Differs("give sasl_credentials=, a callable that returns (user, password): it is asked at each login")

_CLUSTER_ID = "Admin(...).describe_cluster().cluster_id does that"

PRODUCER = {
    "abort": "it is abort_transaction() here",
    "begin": "it is begin_transaction() here, or `with producer.transaction()`",
    "bootstrap_connected": _CONNECTED,
    "cluster_id": _CLUSTER_ID,
    "commit": "it is commit_transaction() here",
    "create_batch": NotNeeded("not needed: send_many(topic, values, partition=...) makes its own batches"),
    "list_topics": "Admin(...).describe_topics() does that",
    "max_usable_produce_magic": NotNeeded("not needed: records are written as each broker takes them"),
    "partitions_for": "Consumer(...).partitions_for(topic) does that",
    "poll": NotNeeded("not needed: callbacks run and records leave by themselves"),
    "produce": "it is send(topic, value, key=..., headers=...) here; it returns a Delivery",
    "produce_batch": "it is send_many(topic, items) here; it returns a Delivery for each",
    "purge": Missing(
        "records that were taken are sent, or fail at delivery_timeout_ms; close(timeout=0) fails them at once"
    ),
    "send_batch": "it is send_many(topic, values, partition=...) here; it returns a Delivery for each",
    "send_and_wait": "it is `await send(...)` in kwire.aio, and send(...).result() without asyncio",
    "set_sasl_credentials": _LOGIN,
    "start": NotNeeded("not needed: the first send connects"),
    "stop": "it is close() here",
}

CONSUMER = {
    "bootstrap": NotNeeded("not needed: the first poll connects"),
    "bootstrap_connected": _CONNECTED,
    "cluster_id": _CLUSTER_ID,
    "commit_sync": "it is commit() here; commit_async() does not wait",
    "consume": "it is poll(timeout=..., max_records=...) here",
    "consumer_group_metadata": "it is group_metadata() here",
    "current_lag": "it is lag() here, of all assigned partitions",
    "get_watermark_offsets": "beginning_offsets() and end_offsets() do that",
    "getmany": "it is poll(timeout=..., max_records=...) here",
    "getone": "it is poll(timeout=..., max_records=1) here, or a loop over the consumer",
    "highwater": "it is end_offsets([partition]) here",
    "incremental_assign": NotNeeded(
        "not needed: assigned partitions are read automatically; call seek() in on_assigned to move"
    ),
    "incremental_unassign": NotNeeded("not needed: revoked partitions are given up automatically"),
    "last_poll_timestamp": Missing("keep the time of the last poll yourself"),
    "last_stable_offset": "it is end_offsets([partition]) here, with isolation_level='read_committed'",
    "list_topics": "Admin(...).describe_topics() does that",
    "memberid": "it is group_metadata().member_id here",
    "partitions_for_topic": "it is partitions_for(topic) here",
    "seek_to_committed": "it is seek(partition, offset) here, with the offsets of committed(assignment())",
    "set_sasl_credentials": _LOGIN,
    "start": NotNeeded("not needed: the first poll connects"),
    "stop": "it is close() here",
    "store_offsets": Differs(
        "set enable_auto_commit=False and call commit(records) or commit_async(records) when they are done"
    ),
    "topics": "Admin(...).list_topics() does that",
    "unassign": "it is unsubscribe() here, or assign([])",
}

_EACH = (
    "a poll returns the records of several partitions: `for record in consumer.poll(timeout=1.0)` has them one by one"
)

RECORDS = {
    "count": "it is len(records) here",
    "error": Differs(f"errors are raised, never returned as records; {_EACH}"),
    "isEmpty": "it is `not records` here",
    "items": "it is by_partition().items() here: {partition: its records}",
    "partitions": "it is by_partition() here: {partition: its records}",
    "records": "it is by_partition()[partition] here, or a loop over these",
    **dict.fromkeys(("headers", "key", "offset", "partition", "timestamp", "topic", "value"), Differs(_EACH)),
}
"""Of what a poll returns: elsewhere that is one message, or a dict by partition."""

DELIVERY = {
    "add_callback": "it is add_done_callback(f) here, for both outcomes: f(delivery)",
    "add_errback": "it is add_done_callback(f) here, for both outcomes: f(delivery)",
    "failed": "it is `done() and exception() is not None` here",
    "get": "it is result(timeout=...) here, in seconds",
    "is_done": "it is done() here",
    "succeeded": "it is `done() and exception() is None` here",
}
"""Of what send() returns: elsewhere that is a future of the library's own."""

MODULE = {
    "AIOConsumer": "it is kwire.aio.Consumer here",
    "AIOKafkaAdminClient": "it is kwire.aio.Admin here",
    "AIOKafkaConsumer": "it is kwire.aio.Consumer here",
    "AIOKafkaProducer": "it is kwire.aio.Producer here",
    "AIOProducer": "it is kwire.aio.Producer here",
    "AdminClient": "it is kwire.Admin here",
    "DeserializingConsumer": "it is kwire.Consumer here, with value_deserializer= and key_deserializer=",
    "DeserializingShareConsumer": "it is kwire.ShareConsumer here, which returns bytes: decode them after poll()",
    "KafkaAdminClient": "it is kwire.Admin here",
    "KafkaConsumer": "it is kwire.Consumer here; topics are named by subscribe()",
    "KafkaException": "it is kwire.KafkaError here; each kind has its class in kwire.errors",
    "KafkaProducer": "it is kwire.Producer here",
    "KafkaTimeoutError": "it is kwire.errors.KafkaTimeoutError here, which is a TimeoutError",
    "NewTopic": "it is kwire.admin.NewTopic here; Admin.create_topics({name: number of partitions}) needs none",
    "SchemaRegistryClient": "it is kwire.registry.Registry(url) here",
    "SerializingProducer": "it is kwire.Producer here, with value_serializer= and key_serializer=",
}
"""Of the package itself, and of its modules whose names are those of other packages' modules."""


def missing(module: str, name: str) -> Exception:
    """The error for a name that `module` has not, for its `__getattr__`; those of MODULE come with what to use."""
    from kwire.errors import elsewhere

    return elsewhere.missing(module, name, MODULE, depth=1)


POLL_KEYWORDS = {
    "num_messages": "it is max_records= here",
    "timeout_ms": "it is timeout= here, in seconds or a timedelta",
    "update_offsets": Differs("commit(records) decides what is committed, whatever was polled since"),
}

_LISTENER = Differs(
    "give listener=, an object with on_assigned, on_revoked and on_lost, each called with the partitions"
)

SUBSCRIBE_KEYWORDS = dict.fromkeys(("on_assign", "on_lost", "on_revoke"), _LISTENER)

COMMIT_KEYWORDS = {
    "asynchronous": Differs("commit() waits, commit_async() does not"),
    "callback": "commit_async() takes a callback",
    "message": "it is commit(record) here",
    "offsets": "it is commit({(topic, partition): offset}) here",
}

LISTENER_METHODS = {
    "on_partitions_assigned": "on_assigned",
    "on_partitions_lost": "on_lost",
    "on_partitions_revoked": "on_revoked",
}
"""The methods of listeners of Java, kafka-python and aiokafka, and kwire's."""

SHARE_CONSUMER = {
    "acknowledge_offset": "it is acknowledge(record, 'accept' | 'release' | 'reject') here",
    "bootstrap": NotNeeded("not needed: the first poll connects"),
    "bootstrap_connected": _CONNECTED,
    "cluster_id": _CLUSTER_ID,
    **dict.fromkeys(
        ("assign", "assignment", "committed", "lag", "pause", "position", "resume", "seek"),
        Missing("a share group has no positions, and assigns partitions by itself; a Consumer has"),
    ),
    "commit_sync": "it is commit() here",
    "set_sasl_credentials": _LOGIN,
    "start": NotNeeded("not needed: the first poll connects"),
    "stop": "it is close() here",
}

ADMIN = {
    "alter_group_offsets": "it is alter_consumer_group_offsets(group, {(topic, partition): offset}) here",
    "api_versions": Differs("`kwire ping` shows them"),
    "cluster_id": "it is describe_cluster().cluster_id here",
    "delete_group_offsets": "it is delete_consumer_group_offsets(group, partitions) here",
    "delete_groups": "it is delete_consumer_groups(groups) here",
    "describe_groups": "it is describe_consumer_groups(groups) here",
    "describe_topic_partitions": "it is describe_topics(topics) here",
    "find_coordinator": NotNeeded("not needed: each call finds the coordinator"),
    "find_hanging_transactions": "list_transactions(min_duration=...) and describe_producers(partitions) do that",
    "get_broker_version_data": Differs("`kwire ping` shows them"),
    "list_group_offsets": "it is list_consumer_group_offsets(group) here",
    "list_partition_offsets": "it is list_offsets({(topic, partition): 'latest'}) here",
    "perform_leader_election": "it is elect_leaders('preferred' | 'unclean', partitions) here",
    "poll": NotNeeded("not needed: a call returns its results, or raises"),
    "remove_group_members": "it is remove_members_from_consumer_group(group, members) here",
    "reset_configs": "it is incremental_alter_configs({resource: {name: None}}) here",
    "reset_group_offsets": "it is alter_consumer_group_offsets(group, {(topic, partition): offset}) here",
    "set_sasl_credentials": _LOGIN,
    "start": NotNeeded("not needed: the first call connects"),
    "stop": "it is close() here",
    "wait_for_topics": Missing(
        "create_topics() returns when the controller has them: call describe_topics() until it has them, too"
    ),
}


def refuse_keywords(call: str, given: Mapping[str, object], hints: Mapping[str, str]) -> None:
    """Raises the TypeError for keywords that the call does not have, with what to do instead where other clients have
    such a keyword."""
    for name in given:
        hint = f": {hints[name]}" if name in hints else ""
        raise TypeError(f"{call}() got an unexpected keyword argument {name!r}{hint}")


class Absent:
    """Stands under the name of an attribute that is not there."""

    __slots__ = ("_name", "_text")

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text

    def __get__(self, instance: object, owner: type) -> object:
        raise UnsupportedError(f"{owner.__name__}.{self._name}(): {self._text}")


def without(names: Mapping[str, str]) -> Callable[[type[Client]], type[Client]]:
    """A class decorator: the class says of each of these names what to do instead, unless it has the name."""

    def add(client: type[Client]) -> type[Client]:
        for name in names:
            if not hasattr(client, name):
                setattr(client, name, Absent(name, names[name]))
        return client

    return add
