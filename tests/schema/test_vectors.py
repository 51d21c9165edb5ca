"""The hand-explained bytes of tests/vectors, both ways."""

from __future__ import annotations

import pytest

from kwire import protocol
from kwire.schema.messages import Message
from tests.vectors.loader import Vector, load

VECTORS = load("messages.txt")


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{vector.message}-{vector.version}" for vector in VECTORS])
def test_bytes_and_values_are_the_same_message(vector: Vector) -> None:
    cls: type[Message] = getattr(protocol, vector.message)
    message = cls.from_dict(vector.values)
    assert message.encode(vector.version).hex(" ") == vector.data.hex(" ")
    assert cls.decode(vector.data, vector.version) == message


def test_both_messages_of_these_keys_have_a_vector() -> None:
    named = {vector.message for vector in VECTORS}
    for key in (0, 1, 2, 3, 18, 19, 20, 22):
        assert {protocol.APIS[key].request.__name__, protocol.APIS[key].response.__name__} <= named
