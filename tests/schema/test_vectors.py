"""The hand-explained bytes of tests/vectors, both ways."""

from __future__ import annotations

import pytest

from kwire import protocol
from kwire.schema.messages import Message
from tests.each import case
from tests.vectors.loader import Vector, load

EXPLAINED = {
    "messages.txt": (0, 1, 2, 3, 18, 19, 20, 22),
    "transactions.txt": (*range(23, 29), 65, 66),
    "administration.txt": (29, 30, 31, 32, 33, 36, 37, 42, 44, 60),
    "groups_of_today.txt": (68, 75, 78),
}
"""{file: the keys that it explains}."""


@pytest.mark.parametrize("name", EXPLAINED)
def test_bytes_and_values_are_the_same_message(name: str) -> None:
    for vector in load(name):
        with case(vector.message, vector.version):
            assert_is_the_same_message(vector)


def assert_is_the_same_message(vector: Vector) -> None:
    cls: type[Message] = getattr(protocol, vector.message)
    message = cls.from_dict(vector.values)
    assert message.encode(vector.version).hex(" ") == vector.data.hex(" ")
    assert cls.decode(vector.data, vector.version) == message


@pytest.mark.parametrize("name", EXPLAINED)
def test_both_messages_of_these_keys_have_a_vector(name: str) -> None:
    named = {vector.message for vector in load(name)}
    for key in EXPLAINED[name]:
        assert {protocol.APIS[key].request.__name__, protocol.APIS[key].response.__name__} <= named
