"""kwire: every Apache Kafka wire, at C speed in Python, and as columns in Spark.

The public names are loaded when they are first used, so `import kwire` costs next to nothing.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, Any
from kwire._version import __version__

if TYPE_CHECKING:
    from kwire import errors as errors
    from kwire.admin import Admin as Admin
    from kwire.consumer import Consumer as Consumer
    from kwire.engine.addresses import TopicPartition as TopicPartition
    from kwire.errors import KafkaError as KafkaError
    from kwire.producer import Producer as Producer

__all__ = ["Admin", "Consumer", "KafkaError", "Producer", "TopicPartition", "__version__", "errors"]

if not TYPE_CHECKING:
    _HOMES = {
        "Admin": "kwire.admin",
        "Consumer": "kwire.consumer",
        "KafkaError": "kwire.errors",
        "Producer": "kwire.producer",
        "TopicPartition": "kwire.engine.addresses",
    }
    _MODULES = frozenset({"errors", "protocol", "records", "testing", "compression"})

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"kwire.{name}")
        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'kwire' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES, *_MODULES})
