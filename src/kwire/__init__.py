"""kwire: every Apache Kafka wire, at C speed in Python, and as columns in Spark.

The public names are loaded when they are first used, so `import kwire` costs next to nothing.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, Any
from kwire._version import __version__

if TYPE_CHECKING:
    from kwire import aio as aio
    from kwire import compression as compression
    from kwire import errors as errors
    from kwire import legacy as legacy
    from kwire import partitioners as partitioners
    from kwire import protocol as protocol
    from kwire import records as records
    from kwire import registry as registry
    from kwire import spark as spark
    from kwire import testing as testing
    from kwire.admin import Admin as Admin
    from kwire.consumer import Consumer as Consumer
    from kwire.consumer import ConsumerRecord as ConsumerRecord
    from kwire.consumer import ConsumerRecords as ConsumerRecords
    from kwire.engine.calls.offsets import OffsetAndMetadata as OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition as TopicPartition
    from kwire.engine.consumer.deserialization import DeserializedRecord as DeserializedRecord
    from kwire.engine.groups.membership import GroupMetadata as GroupMetadata
    from kwire.engine.settings.options import AdminOptions as AdminOptions
    from kwire.engine.settings.options import ConsumerOptions as ConsumerOptions
    from kwire.engine.settings.options import ProducerOptions as ProducerOptions
    from kwire.engine.settings.options import ShareConsumerOptions as ShareConsumerOptions
    from kwire.errors import KafkaError as KafkaError
    from kwire.producer import Delivery as Delivery
    from kwire.producer import Producer as Producer
    from kwire.producer import RecordMetadata as RecordMetadata
    from kwire.share_consumer import ShareConsumer as ShareConsumer
    from kwire.share_consumer import ShareRecords as ShareRecords
    from kwire.tables import read as read
    from kwire.tables import read_batches as read_batches
    from kwire.tables import write as write
    from kwire.worker.threads import Worker as Worker

__all__ = [
    "Admin",
    "AdminOptions",
    "Consumer",
    "ConsumerOptions",
    "ConsumerRecord",
    "ConsumerRecords",
    "Delivery",
    "DeserializedRecord",
    "GroupMetadata",
    "KafkaError",
    "OffsetAndMetadata",
    "Producer",
    "ProducerOptions",
    "RecordMetadata",
    "ShareConsumer",
    "ShareConsumerOptions",
    "ShareRecords",
    "TopicPartition",
    "Worker",
    "__version__",
    "errors",
    "read",
    "read_batches",
    "write",
]

if not TYPE_CHECKING:
    _HOMES = {
        "Admin": "kwire.admin",
        "AdminOptions": "kwire.engine.settings.options",
        "Consumer": "kwire.consumer",
        "ConsumerOptions": "kwire.engine.settings.options",
        "ConsumerRecord": "kwire.consumer",
        "ConsumerRecords": "kwire.consumer",
        "Delivery": "kwire.producer",
        "DeserializedRecord": "kwire.engine.consumer.deserialization",
        "GroupMetadata": "kwire.engine.groups.membership",
        "KafkaError": "kwire.errors",
        "OffsetAndMetadata": "kwire.engine.calls.offsets",
        "Producer": "kwire.producer",
        "ProducerOptions": "kwire.engine.settings.options",
        "RecordMetadata": "kwire.producer",
        "ShareConsumer": "kwire.share_consumer",
        "ShareConsumerOptions": "kwire.engine.settings.options",
        "ShareRecords": "kwire.share_consumer",
        "TopicPartition": "kwire.engine.common.addresses",
        "Worker": "kwire.worker.threads",
        "read": "kwire.tables",
        "read_batches": "kwire.tables",
        "write": "kwire.tables",
    }
    _MODULES = frozenset(
        {
            "aio",
            "compression",
            "errors",
            "legacy",
            "partitioners",
            "protocol",
            "records",
            "registry",
            "spark",
            "testing",
        }
    )

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"kwire.{name}")
        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        raise import_module("kwire.engine.common.absent").missing(__name__, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES, *_MODULES})
