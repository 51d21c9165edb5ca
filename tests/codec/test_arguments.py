"""Arguments out of their range or of another kind: a CodecError, ConfigError or TypeError that names them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kwire import errors
from kwire._codec import RecordColumns, crc32c, record_plan
from kwire.records import BatchBuilder, Record, decode, encode

HUGE = pytest.param(10**5000, id="huge")
TWO_GIB = 2**31


@pytest.mark.parametrize("value", [2**31, 2**63, 2**64, -(2**70), HUGE])
@pytest.mark.parametrize("name", ["producer_epoch", "base_sequence", "partition_leader_epoch", "magic"])
def test_ints_beyond_their_field_are_named(name: str, value: int) -> None:
    options: Any = {name: value}
    for make in (lambda: encode([b"v"], **options), lambda: BatchBuilder(**options)):
        with pytest.raises(errors.CodecError) as caught:
            make()
        assert caught.value.field == name


@pytest.mark.parametrize("name", ["base_offset", "producer_id", "max_bytes"])
def test_ints_beyond_64_bits_are_named(name: str) -> None:
    options: Any = {name: 2**63}
    with pytest.raises(errors.CodecError) as caught:
        BatchBuilder(**options)
    assert caught.value.field == name


@pytest.mark.parametrize(
    "name", ["magic", "base_offset", "producer_id", "producer_epoch", "base_sequence", "max_bytes",
             "partition_leader_epoch"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["1", 1.0, b"1"])
def test_arguments_that_are_not_ints_are_named(name: str, value: object) -> None:
    options: Any = {name: value}
    with pytest.raises(TypeError, match=name):
        BatchBuilder(**options)


@pytest.mark.parametrize(("name", "generation"), [("max_decompressed_bytes", None), ("max_decompressed_bytes", "0.7")])
def test_a_limit_beyond_64_bits_is_named(name: str, generation: str | None) -> None:
    options: Any = {name: 2**63}
    with pytest.raises(errors.ConfigError, match=name):
        decode(b"", generation=generation, **options)


def test_a_base_offset_of_0_7_beyond_64_bits_is_named() -> None:
    with pytest.raises(errors.CodecError) as caught:
        decode(b"", generation="0.7", base_offset=2**63)
    assert caught.value.field == "base_offset"


@pytest.mark.parametrize("magic", [2**40, HUGE, 3])
def test_a_magic_of_0_7_beyond_its_field_is_named(magic: int) -> None:
    with pytest.raises(errors.UnknownVersionError) as caught:
        encode([b"v"], generation="0.7", magic=magic)
    assert caught.value.field == "magic"


@pytest.mark.parametrize("timestamp", [-2, 2**63, -(2**80), HUGE, datetime.min, datetime(1969, 1, 1)])
def test_timestamps_that_cannot_be_written_are_named(timestamp: Any) -> None:
    for make in (lambda: encode([(b"v", None, timestamp)]), lambda: Record(b"v", timestamp=timestamp)):
        with pytest.raises(errors.CodecError) as caught:
            make()
        assert caught.value.field == "timestamp"


def test_times_at_the_ends_of_the_calendar() -> None:
    east = timezone(timedelta(hours=14))
    assert Record(None, timestamp=datetime.max.replace(tzinfo=east)).timestamp == 253402250399999
    with pytest.raises(errors.CodecError):
        Record(None, timestamp=datetime.min.replace(tzinfo=east))


@pytest.mark.parametrize("items", [[b"v"], [None], [(b"v", b"k")], [Record(b"v"), b"v"]])
def test_offsets_are_kept_of_records_only(items: Any) -> None:
    with pytest.raises((TypeError, errors.CodecError), match="offset"):
        encode(items, keep_offsets=True)


def test_offsets_at_the_end_of_their_field_are_not_given_twice() -> None:
    last = decode(encode([b"v"], base_offset=2**63 - 1))[0]
    with pytest.raises(errors.CodecError) as caught:
        encode([last, last], keep_offsets=True)
    assert caught.value.field == "offset"


@pytest.mark.parametrize(
    "call", [decode, crc32c, lambda data: encode([data]), Record, lambda data: Record(b"", data),
             lambda data: encode([(None, None, None, [("h", data)])])],
)  # fmt: skip
def test_bytes_with_gaps_are_a_type_error(call: Any) -> None:
    with pytest.raises(TypeError, match="contiguous"):
        call(memoryview(b"abcdef")[::2])


def test_a_field_of_bytes_with_gaps_is_named() -> None:
    with pytest.raises(TypeError, match=r"a record's key.*contiguous"):
        Record(b"", memoryview(b"abcdef")[::2])


@pytest.mark.parametrize(
    ("field", "values"), [("value", {"value": 1}), ("key", {"value": None, "key": 1}),
                          ("headers", {"value": None, "headers": [("h", 1)]})],
)  # fmt: skip
@pytest.mark.parametrize("size", [TWO_GIB, TWO_GIB * 2 + 5])
def test_fields_of_a_record_beyond_2_gib_are_refused(field: str, values: dict[str, Any], size: int) -> None:
    """Memory that is never touched costs nothing: the size alone is looked at."""
    data = bytes(size)
    given = {name: data if value == 1 else [("h", data)] if value == [("h", 1)] else value
             for name, value in values.items()}  # fmt: skip
    with pytest.raises(errors.LimitError) as caught:
        Record(**given)
    assert caught.value.field == field


def test_a_topic_that_utf_8_cannot_carry_is_named() -> None:
    with pytest.raises(errors.CodecError) as caught:
        RecordColumns(record_plan(with_place=True), [(decode(b""), "\ud800", 0)])
    assert caught.value.field == "topic"


@pytest.mark.parametrize("index", [2**64, -(2**64), 3, -3])
def test_an_index_beyond_the_records(index: int) -> None:
    with pytest.raises(IndexError):
        decode(encode([b"v", b"w"]))[index]


def test_a_slice_in_steps() -> None:
    with pytest.raises(ValueError, match="steps of one"):
        decode(encode([b"v", b"w"]))[:: 2**70]
