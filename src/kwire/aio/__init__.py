"""The clients for asyncio: the names, arguments and results of `kwire`'s, over the same engine, on an event loop.

A client belongs to the event loop on which it is used first. What waits is a coroutine; what only sets something is a
plain method, and so is `Producer.send`: it returns a Delivery at once, to be awaited or not.
"""

from kwire._codec import ConsumerRecord, Delivery, RecordMetadata
from kwire._typing import TYPE_CHECKING, Any
from kwire.aio.admin import Admin
from kwire.aio.consumer import Consumer
from kwire.aio.producer import Producer
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.records import ConsumerRecords

if TYPE_CHECKING:
    from kwire.aio.registry import Registry as Registry
    from kwire.aio.share_consumer import ShareConsumer as ShareConsumer
    from kwire.worker.tasks import Worker as Worker

__all__ = [
    "Admin",
    "Consumer",
    "ConsumerRecord",
    "ConsumerRecords",
    "Delivery",
    "Producer",
    "RecordMetadata",
    "Registry",
    "ShareConsumer",
    "TopicPartition",
    "Worker",
]

if not TYPE_CHECKING:
    _HOMES = {
        "Registry": "kwire.aio.registry",
        "ShareConsumer": "kwire.aio.share_consumer",
        "Worker": "kwire.worker.tasks",
    }

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        raise import_module("kwire.engine.common.absent").missing(__name__, name)
