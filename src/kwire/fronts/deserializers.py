"""The deserializers of a consumer's settings, loaded where there are some.

Layer 5, below the clients.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.engine.consumer.deserialization import Deserialization
    from kwire.engine.settings.clients import ConsumerSettings, ShareConsumerSettings


def deserialization_of(settings: ConsumerSettings | ShareConsumerSettings) -> Deserialization | None:
    """What its polls do with keys and values; None where these stay bytes."""
    key, value = settings.key_deserializer, settings.value_deserializer
    if key is None and value is None:
        return None
    from kwire.engine.consumer.deserialization import Deserialization

    return Deserialization(key, value, settings.deserialize_errors)
