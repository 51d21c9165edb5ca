"""Names that a module does not have, but that its users know from other clients: the error that says what to use.

Layer 0, imported when such a name was asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

_CLOSED = "it is kwire.errors.ClientClosedError here"
_CONNECT = "it is kwire.errors.ConnectError here, whose `causes` name each broker's"
_SERIALIZATION = "it is kwire.errors.SerializationError here"

ERRORS = {
    "AuthenticationFailedError": "it is kwire.errors.AuthError here",
    "AuthenticationMethodNotSupported": "it is kwire.errors.AuthError here",
    "ConsumeError": "a poll raises the error itself, a kwire.KafkaError; each kind has its class in kwire.errors",
    "ConsumerStoppedError": _CLOSED,
    "CorruptRecordException": "it is kwire.errors.CorruptError here",
    "IllegalArgumentError": "it is kwire.errors.ConfigError here, which is a ValueError",
    "KafkaConfigurationError": "it is kwire.errors.ConfigError here, which is a ValueError",
    "KafkaConnectionError": _CONNECT,
    "KafkaException": "it is kwire.KafkaError here; each kind has its class in kwire.errors",
    "KafkaUnavailableError": _CONNECT,
    "KeyDeserializationError": _SERIALIZATION,
    "KeySerializationError": _SERIALIZATION,
    "MessageSizeTooLargeError": (
        "send() raises kwire.errors.LimitError; where a broker refuses, it is kwire.errors.broker.MessageTooLargeError"
    ),
    "NoBrokersAvailable": _CONNECT,
    "NodeNotReadyError": _CONNECT,
    "ProduceError": "a Delivery's exception() is the error itself; flush() raises kwire.errors.DeliveryError",
    "ProducerClosed": _CLOSED,
    "RecordTooLargeError": "it is kwire.errors.LimitError here",
    "ValueDeserializationError": _SERIALIZATION,
    "ValueSerializationError": _SERIALIZATION,
}
"""Of `kwire.errors`, beside the classes of brokers' error codes, which are in `kwire.errors.broker`."""


def missing_error(name: str) -> Exception:
    """`missing` of `kwire.errors`."""
    from kwire.errors import broker

    hints = {name: f"it is kwire.errors.broker.{name} here"} if name in dir(broker) else ERRORS
    return missing("kwire.errors", name, hints, depth=1)


def missing(module: str, name: str, hints: Mapping[str, str], depth: int = 0) -> Exception:
    """The error for a name that `module` has not, for its `__getattr__`, `depth` calls away; other clients' names come
    with what to use."""
    if name not in hints:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    text = f"{module}.{name}: {hints[name]}"
    return ImportError(text, name=module) if _is_imported(depth) else AttributeError(text)


def _is_imported(depth: int) -> bool:
    """Whether `from module import name` asks: it would put a text of its own in the place of an AttributeError's."""
    from opcode import opmap

    asking = sys._getframe(3 + depth)
    return asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == opmap["IMPORT_FROM"]
