"""The bytes by which a record says which schema it was written with."""

from __future__ import annotations

import pickle

import pytest

from kwire.errors import SerializationError
from kwire.registry.framing import index_frame, read_indexes


def test_message_indexes_are_those_of_the_format() -> None:
    for indexes in ([0], [1], [0, 0], [3, 70, 2], [1, 200]):
        frame = index_frame(indexes)
        assert read_indexes(frame + b"rest") == (indexes, len(frame))
    assert index_frame([0]) == b"\0"
    assert index_frame([1, 0]) == b"\4\2\0"
    for bad in (b"", b"\2", b"\x80", b"\xff\xff\xff\xff\xff\x01", b"\1"):
        with pytest.raises(SerializationError):
            read_indexes(bad)


def test_an_error_of_a_record_keeps_its_place_when_pickled() -> None:
    error = SerializationError("no", topic="t", partition=1, offset=7, field="key", raw=b"x")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.topic, again.partition, again.offset, again.field, again.raw, again.seek_to) == (
        "no", "t", 1, 7, "key", b"x", 8,
    )  # fmt: skip
