"""The other clients: their packages, their classes by what these are in kwire, and same names with another meaning.

What kwire lacks is in `kwire.engine.common.absent` and `kwire.engine.settings.foreign`, where the clients look, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

CONFLUENT = "confluent-kafka"
AIOKAFKA = "aiokafka"
KAFKA_PYTHON = "kafka-python"

PACKAGES = {"confluent_kafka": CONFLUENT, "aiokafka": AIOKAFKA, "kafka": KAFKA_PYTHON}


class Made(NamedTuple):
    """What an expression of a program makes: an object of this kind, of this peer."""

    peer: str
    kind: str


CLASSES = {
    CONFLUENT: {
        "AIOConsumer": "Consumer",
        "AIOProducer": "Producer",
        "AdminClient": "Admin",
        "Consumer": "Consumer",
        "DeserializingConsumer": "Consumer",
        "Producer": "Producer",
        "SerializingProducer": "Producer",
        "ShareConsumer": "ShareConsumer",
    },
    AIOKAFKA: {"AIOKafkaAdminClient": "Admin", "AIOKafkaConsumer": "Consumer", "AIOKafkaProducer": "Producer"},
    KAFKA_PYTHON: {"KafkaAdminClient": "Admin", "KafkaConsumer": "Consumer", "KafkaProducer": "Producer"},
}

RESULTS = {
    ("Consumer", "consume"): "Records",
    ("Consumer", "getmany"): "Records",
    ("Consumer", "getone"): "Record",
    ("Consumer", "poll"): "Records",
    ("Producer", "send"): "Delivery",
}
"""What calls return whose results programs ask further."""

_COMMITS = "without arguments what poll() has handed out is committed; {(topic, partition): offset} commits others"
_CLOSE = "close() also flushes: records that failed are raised as a DeliveryError"
_FLUSH = "it returns nothing, and raises a DeliveryError with the records that failed; timeout= is in seconds"
_SEEK = "it is seek((topic, partition), offset); an offset may be a datetime, 'earliest' or 'latest', too"
_SUBSCRIBE = (
    "a pattern is pattern=, of the whole name as in Java, and a listener has on_assigned, on_revoked and on_lost"
)
_COMMITTED = "it takes a list of partitions, and returns {TopicPartition: OffsetAndMetadata or None}"
_POSITION = "it takes one partition, and returns its offset"
_TIMES = "it takes {(topic, partition): milliseconds or datetime}, and returns the offsets by partition"
_RESULTS = (
    "it takes plain values, and returns results by item without futures; what failed is raised, with .failures by item"
)

_NO_COROUTINE = "no coroutine, and it takes a list: seek_to_end([partition, ...]), or nothing for all"

_LIST = "it takes one list of partitions, not an argument for each"

EACH_CALL = {"Admin": _RESULTS}
"""What is different in each call of a kind of clients, closing them apart."""

DIFFERENT: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    CONFLUENT: {
        "Producer": {
            "close": _CLOSE,
            "flush": f"{_FLUSH}; it runs no callbacks",
            "init_transactions": "timeout= is a keyword; the first transaction calls it by itself",
            "send_offsets_to_transaction": "it takes {(topic, partition): offset} and consumer.group_metadata()",
        },
        "Consumer": {
            "assign": "it takes partitions; at={partition: offset} says where to begin",
            "commit": f"it waits, and takes records or offsets in its first argument; {_COMMITS}",
            "committed": _COMMITTED,
            "offsets_for_times": _TIMES,
            "poll": "it returns the records of several partitions, none when the time is over; errors are raised",
            "position": _POSITION,
            "seek": _SEEK,
            "subscribe": f"a name that begins with ^ is refused; {_SUBSCRIBE}",
        },
    },
    AIOKAFKA: {
        "Producer": {
            "flush": f"`await flush()`; {_FLUSH}",
            "send": "no coroutine: it returns a Delivery at once, which is awaited for the metadata; timestamp_ms= is "
            "timestamp=, and BufferFull is raised where send() would wait: `await producer.drain()`",
            "send_offsets_to_transaction": "its second argument is consumer.group_metadata(), not the name of a group",
        },
        "Consumer": {
            "commit": f"`await commit()`; {_COMMITS}",
            "committed": _COMMITTED,
            "offsets_for_times": _TIMES,
            "pause": _LIST,
            "resume": _LIST,
            "seek": _SEEK,
            "seek_to_beginning": _NO_COROUTINE,
            "seek_to_end": _NO_COROUTINE,
            "subscribe": _SUBSCRIBE,
        },
    },
    KAFKA_PYTHON: {
        "Producer": {
            "close": _CLOSE,
            "flush": _FLUSH,
            "send": "it returns a Delivery, and timestamp_ms= is timestamp=",
            "send_offsets_to_transaction": "its second argument is consumer.group_metadata(), not the name of a group",
        },
        "Consumer": {
            "commit": _COMMITS,
            "committed": _COMMITTED,
            "offsets_for_times": _TIMES,
            "poll": "timeout= is in seconds, and a loop over its result has records: by_partition() is the dict",
            "commit_async": "callback= is a keyword, and is called with the offsets and the error or None",
            "pause": _LIST,
            "resume": _LIST,
            "seek": _SEEK,
            "seek_to_beginning": _LIST,
            "seek_to_end": _LIST,
            "subscribe": _SUBSCRIBE,
        },
    },
}
"""By peer and kind: methods that kwire has under the same name, and what is not as it was."""

_CONNECT = "it is kwire.errors.ConnectError here; constructors do not connect, so the first call raises it"

NAMES = {
    CONFLUENT: {
        "KafkaError": "errors are raised: kwire.errors has a class for each code, with .code and .retriable",
        "TopicPartition": "it has no offset in kwire: offsets are the values of {TopicPartition: offset}",
    },
    AIOKAFKA: {"KafkaConnectionError": _CONNECT},
    KAFKA_PYTHON: {"KafkaConnectionError": _CONNECT, "NoBrokersAvailable": _CONNECT},
}
"""Names of modules, alike."""
