"""What a producer does with keys and values before they are sent, where it has serializers. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable

from kwire._typing import Any
from kwire.engine.common.serialization import Headers, SerializationContext, Serializer
from kwire.errors import SerializationError


class Serialization:
    """The key comes first, then the value; what either adds to the headers is sent with them."""

    def __init__(self, key: Serializer | None, value: Serializer | None) -> None:
        self._key = key
        self._value = value

    def __call__(self, topic: str, value: Any, key: Any, headers: Iterable[Any] | None) -> tuple[Any, Any, Headers]:
        """(value, key, headers), as they are sent; SerializationError for what cannot be."""
        given: Headers = list(headers or ())
        if self._key is not None:
            key = _written(self._key, key, SerializationContext(topic, "key", given))
        if self._value is not None:
            value = _written(self._value, value, SerializationContext(topic, "value", given))
        return value, key, given


def _written(serializer: Serializer, value: Any, context: SerializationContext) -> Any:
    try:
        made = serializer(value, context)
        if type(made) is not bytes and hasattr(made, "__await__"):
            getattr(made, "close", lambda: None)()  # a coroutine that is dropped would be warned of
            raise TypeError("the serializer has to be awaited, which a kwire.aio.Producer does where it is async def")
        return made
    except SerializationError as error:
        raise refused(error, context)  # noqa: B904 - it is the same
    except Exception as error:
        raise refused(error, context) from error


def refused(error: BaseException, context: SerializationContext) -> SerializationError:
    """The error of a value that a serializer did not take; one of its own with the place."""
    if isinstance(error, SerializationError):
        error.topic, error.field = context.topic, context.field
        return error
    return SerializationError(
        f"the {context.field} for {context.topic} cannot be serialized: {type(error).__name__}: {error}",
        topic=context.topic,
        field=context.field,
    )
