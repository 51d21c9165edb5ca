"""The other clients: their packages, their classes by what these are in kwire, and what their calls make.

What becomes of their names is elsewhere: of those that kwire lacks in `kwire.engine.common.absent` and
`kwire.engine.settings.foreign`, where the clients look, too; of the rest beside this file.
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
    is_aio: bool = False


CLASSES = {
    CONFLUENT: {
        "AIOConsumer": "Consumer",
        "AIOProducer": "Producer",
        "AdminClient": "Admin",
        "AsyncAvroDeserializer": "Deserializer",
        "AsyncAvroSerializer": "Serializer",
        "AsyncDeserializingConsumer": "Consumer",
        "AsyncJSONDeserializer": "Deserializer",
        "AsyncJSONSerializer": "Serializer",
        "AsyncProtobufDeserializer": "Deserializer",
        "AsyncProtobufSerializer": "Serializer",
        "AsyncSchemaRegistryClient": "Registry",
        "AsyncSerializingProducer": "Producer",
        "AvroDeserializer": "Deserializer",
        "AvroSerializer": "Serializer",
        "Consumer": "Consumer",
        "DeserializingConsumer": "Consumer",
        "DeserializingShareConsumer": "ShareConsumer",
        "JSONDeserializer": "Deserializer",
        "JSONSerializer": "Serializer",
        "Producer": "Producer",
        "ProtobufDeserializer": "Deserializer",
        "ProtobufSerializer": "Serializer",
        "SchemaRegistryClient": "Registry",
        "SerializingProducer": "Producer",
        "ShareConsumer": "ShareConsumer",
    },
    AIOKAFKA: {"AIOKafkaAdminClient": "Admin", "AIOKafkaConsumer": "Consumer", "AIOKafkaProducer": "Producer"},
    KAFKA_PYTHON: {"KafkaAdminClient": "Admin", "KafkaConsumer": "Consumer", "KafkaProducer": "Producer"},
}
LISTENERS = {"AsyncConsumerRebalanceListener", "ConsumerRebalanceListener"}
"""Bases of listeners of groups."""

MODULES = {
    *PACKAGES,
    *("abc", "admin", "aio", "avro", "cimpl", "consumer", "error", "errors", "helpers", "json_schema", "partitioner"),
    *("producer", "protobuf", "schema_registry", "schema_registry_client", "serialization", "serializer", "structs"),
}
"""Names of their packages and modules, as against names in these."""

RESULTS: Mapping[str, Mapping[tuple[str, str], str]] = {
    CONFLUENT: {
        ("Consumer", "consume"): "Batch",
        ("Consumer", "poll"): "Record",
        ("Record", "error"): "Error",
        ("ShareConsumer", "poll"): "Batch",
        ("Admin", "alter_configs"): "Futures",
        ("Admin", "alter_consumer_group_offsets"): "Futures",
        ("Admin", "alter_user_scram_credentials"): "Futures",
        ("Admin", "create_acls"): "Futures",
        ("Admin", "create_partitions"): "Futures",
        ("Admin", "create_topics"): "Futures",
        ("Admin", "delete_acls"): "Futures",
        ("Admin", "delete_consumer_groups"): "Futures",
        ("Admin", "delete_records"): "Futures",
        ("Admin", "delete_topics"): "Futures",
        ("Admin", "describe_acls"): "Future",
        ("Admin", "describe_cluster"): "Future",
        ("Admin", "describe_configs"): "Futures",
        ("Admin", "describe_consumer_groups"): "Futures",
        ("Admin", "describe_topics"): "Futures",
        ("Admin", "describe_user_scram_credentials"): "Futures",
        ("Admin", "elect_leaders"): "Future",
        ("Admin", "incremental_alter_configs"): "Futures",
        ("Admin", "list_consumer_group_offsets"): "Futures",
        ("Admin", "list_consumer_groups"): "Future",
        ("Admin", "list_offsets"): "Futures",
    },
    AIOKAFKA: {
        ("Consumer", "getmany"): "ByPartition",
        ("Consumer", "getone"): "Record",
        ("Producer", "send"): "Delivery",
        ("Producer", "send_and_wait"): "Metadata",
        ("Delivery", "result"): "Metadata",
    },
    KAFKA_PYTHON: {
        ("Consumer", "poll"): "ByPartition",
        ("Delivery", "add_callback"): "Delivery",
        ("Delivery", "add_errback"): "Delivery",
        ("Delivery", "get"): "Metadata",
        ("Producer", "send"): "Delivery",
    },
}
"""What calls return whose results programs ask further."""

PARTS = {"Batch": "Record", "ByPartition": "Partition", "Futures": "Key"}
"""What a loop over such a thing is about."""

VALUES = {"ByPartition": "Batch", "Futures": "Future"}
"""What stands in such a dict."""

ELEMENTS = {"Batch": "Record", "Consumer": "Record", "ByPartition": "Batch", "Futures": "Future"}
"""What an index, or a loop over clients and lists, leads to."""

CALLBACKS: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("Delivery", "add_callback", ""): ("Metadata",),
    ("Producer", "produce", "callback"): ("Error", "Record"),
    ("Producer", "produce", "on_delivery"): ("Error", "Record"),
    ("Consumer", "subscribe", "on_assign"): ("Consumer", ""),
    ("Consumer", "subscribe", "on_lost"): ("Consumer", ""),
    ("Consumer", "subscribe", "on_revoke"): ("Consumer", ""),
}
"""By kind, call and keyword, none for the first argument: what the first arguments of a function given there are."""

CALLBACK_SETTINGS = {"error_cb": ("Error",), "on_delivery": ("Error", "Record")}
"""The same of settings."""

_SHOWN = {
    CONFLUENT: {"Admin": "AdminClient", "Error": "KafkaError", "Record": "Message", "Registry": "SchemaRegistryClient"},
    AIOKAFKA: {"Admin": "AIOKafkaAdminClient", "Consumer": "AIOKafkaConsumer", "Producer": "AIOKafkaProducer"},
    KAFKA_PYTHON: {"Admin": "KafkaAdminClient", "Consumer": "KafkaConsumer", "Producer": "KafkaProducer"},
}
_WORDS = {
    "Batch": "list of messages",
    "ByPartition": "records by partition",
    "Delivery": "future",
    "Future": "future",
    "Futures": "futures",
    "Metadata": "RecordMetadata",
    "Record": "ConsumerRecord",
}


def shown(made: Made) -> str:
    """What an object is called in the peer's words."""
    return _SHOWN[made.peer].get(made.kind) or _WORDS.get(made.kind, made.kind)
