"""Columns: equal to the records they come from, valid to pyarrow, cut where Arrow must be, released on any thread."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import _codec, records
from kwire.errors import CodecError, ConfigError, LimitError
from tests.codec.record_strategies import MOST_INT64, plain_records
from tests.guarded import runs_in_a_process
from tests.reference import records as reference
from tests.reference.records import BatchFields, PlainRecord

SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("timestamp_type", pa.int8()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
SPARK_LIKE = _codec.ColumnPlan(
    [
        ("key", "key", "binary"),
        ("value", "value", "binary"),
        ("topic", "topic", "string"),
        ("partition", "partition", "int32"),
        ("offset", "offset", "int64"),
        ("timestamp", "timestamp", "timestamp_us"),
        ("timestampType", "timestamp_type", "int32"),
        ("headers", "headers", "list_or_null"),
    ]
)


def rows(read: records.Records) -> list[dict[str, object]]:
    return [
        {
            "offset": r.offset,
            "timestamp": r.timestamp,
            "timestamp_type": r.timestamp_type,
            "key": r.key,
            "value": r.value,
            "headers": [{"key": key, "value": value} for key, value in r.headers],
        }
        for r in read
    ]


@st.composite
def buffers(draw: st.DrawFn) -> bytes:
    """Several batches of any format and codec."""
    wire = b""
    for magic in draw(st.lists(st.sampled_from([2, 2, 2, 1, 0]), max_size=4)):
        drawn = draw(plain_records(magic=magic))
        codec = draw(st.sampled_from(["none", "none", "lz4", "gzip"]))
        if magic == 2:
            wire += reference.encode_batch(drawn, BatchFields(codec=codec, attributes=draw(st.sampled_from([0, 8]))))
        else:
            wire += reference.encode_message_set(drawn, magic, codec)
    return wire


@settings(deadline=None)
@given(wire=buffers(), cut=st.tuples(st.integers(0, 30), st.integers(0, 30)))
def test_columns_are_the_records(wire: bytes, cut: tuple[int, int]) -> None:
    read = records.decode(wire)[cut[0] : -cut[1] or None]
    for binary_view in (False, True):
        batch = read.to_arrow(binary_view=binary_view)
        batch.validate(full=True)
        assert batch.to_pylist() == rows(read)
        if not binary_view:
            assert batch.schema == SCHEMA
        else:
            assert batch.schema.field("value").type == pa.binary_view()


@settings(deadline=None)
@given(wire=buffers(), most=st.integers(1000, 3000))
def test_the_stream_cuts_and_loses_nothing(wire: bytes, most: int) -> None:
    read = records.decode(wire)
    columns = _codec.RecordColumns(_codec.record_plan(), [(read, None, 0)], most)
    batches = list(pa.RecordBatchReader.from_stream(columns))
    assert len(batches) >= 1
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == SCHEMA
        assert batch["value"].nbytes <= most + 5 * (len(batch) + 1)
    assert [row for batch in batches for row in batch.to_pylist()] == rows(read)


def test_the_capsules_of_the_arrow_interface() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(1, 2, b"k", b"v", ((b"h", None),))]))
    assert pa.schema(read) == SCHEMA
    assert pa.record_batch(read).to_pylist() == pa.table(read).to_pylist() == rows(read)
    schema, array = read.__arrow_c_array__()
    assert "arrow_schema" in repr(schema)
    assert "arrow_array" in repr(array)


def test_columns_are_chosen_and_named() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(1, 2, b"k", b"v")]))
    assert read.to_arrow(["value", "offset"]).to_pydict() == {"value": [b"v"], "offset": [1]}
    assert read.to_arrow([]).num_columns == 0
    with pytest.raises(ConfigError, match=r"'valeu'.*offset, timestamp, timestamp_type, key, value, headers"):
        read.to_arrow(["valeu"])
    with pytest.raises(ConfigError, match="'ms', 'us' and 'ns'"):
        read.to_arrow(timestamp_unit="s")


def test_timestamps_in_other_units() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(0, 1500, None, b""), PlainRecord(1, -1, None, b"")]))
    assert read.to_arrow(["timestamp"])["timestamp"].to_pylist() == [1500, -1]
    assert read.to_arrow(["timestamp"], timestamp_unit="us")["timestamp"].to_pylist() == [1_500_000, -1]
    assert read.to_arrow(["timestamp"], timestamp_unit="ns")["timestamp"].to_pylist() == [1_500_000_000, -1]


@pytest.mark.parametrize("timestamp", [MOST_INT64, -MOST_INT64 - 1, MOST_INT64 // 1000 + 1])
def test_timestamps_that_do_not_fit_the_unit(timestamp: int) -> None:
    read = records.decode(reference.encode_batch([PlainRecord(0, timestamp, None, b"")]))
    assert read.to_arrow()["timestamp"].to_pylist() == [timestamp]
    with pytest.raises(LimitError, match="unit"):
        read.to_arrow(timestamp_unit="us")


def test_nothing_is_a_batch_too() -> None:
    nothing = records.decode(b"")
    batch = nothing.to_arrow()
    batch.validate(full=True)
    assert (batch.num_rows, batch.schema) == (0, SCHEMA)
    assert nothing.to_arrow(binary_view=True).num_rows == 0
    assert pa.RecordBatchReader.from_stream(nothing).read_all().num_rows == 0
    assert _codec.RecordColumns(SPARK_LIKE, []).to_arrow().num_rows == 0


def test_one_plan_for_several_partitions() -> None:
    one = records.decode(reference.encode_batch([PlainRecord(i, 1000 + i, None, b"%d" % i) for i in range(4)]))
    two = records.decode(reference.encode_batch([PlainRecord(9, -1, b"k", None, ((b"h", b"x"),))]))
    batch = _codec.RecordColumns(SPARK_LIKE, [(one[1:3], "töpic", 3), (one[:0], "none", 1), (two, "b", 0)]).to_arrow()
    batch.validate(full=True)
    assert batch.schema.field("timestamp").type == pa.timestamp("us", "UTC")
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert [(row["topic"], row["partition"], row["offset"]) for row in batch.to_pylist()] == [
        ("töpic", 3, 1), ("töpic", 3, 2), ("b", 0, 9),
    ]  # fmt: skip
    assert [(row["timestamp"] - epoch).total_seconds() for row in batch.to_pylist()] == [1.001, 1.002, -0.001]
    assert batch["headers"].to_pylist() == [None, None, [{"key": "h", "value": b"x"}]]
    assert batch["key"].to_pylist() == [None, None, b"k"]
    assert batch["timestampType"].to_pylist() == [0, 0, 0]


def test_plans_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ConfigError, match="'epoch'"):
        _codec.ColumnPlan([("epoch", "epoch", "int32")])
    with pytest.raises(ConfigError, match="int64"):
        _codec.ColumnPlan([("offset", "offset", "int32")])
    with pytest.raises(TypeError):
        _codec.RecordColumns(SPARK_LIKE, [(None, "t", 0)])  # type: ignore[list-item]


def test_a_column_above_the_limit_is_refused_and_the_stream_is_not() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(i, 1, None, bytes(100)) for i in range(10)]))
    columns = _codec.RecordColumns(_codec.record_plan(), [(read, None, 0)], 250)
    with pytest.raises(LimitError, match="__arrow_c_stream__"):
        columns.to_arrow()
    assert [len(batch) for batch in pa.RecordBatchReader.from_stream(columns)] == [2, 2, 2, 2, 2]
    alone = _codec.RecordColumns(_codec.record_plan(), [(read, None, 0)], 99)
    assert [len(batch) for batch in pa.RecordBatchReader.from_stream(alone)] == [1] * 10


# --- lifetimes ---


def test_columns_outlive_everything_and_are_freed() -> None:
    gc.collect()
    before = _codec.pool_statistics()["live_blocks"]
    wire = bytearray(reference.encode_batch([PlainRecord(i, 1, b"key", b"a value of %d bytes" % i) for i in range(50)]))
    for codec in ("none", "zstd"):
        drawn = [PlainRecord(i, 1, b"key", b"a value of some bytes %d" % i) for i in range(50)]
        wire = bytearray(reference.encode_batch(drawn, BatchFields(codec=codec)))
        for view in (False, True):
            read = records.decode(wire)
            value = read.to_arrow(binary_view=view).column("value")
            stream = pa.RecordBatchReader.from_stream(read)
            del read
            gc.collect()
            value.validate(full=True)
            assert value.to_pylist() == [r.value for r in drawn]
            assert stream.read_all()["value"].to_pylist() == [r.value for r in drawn]
            del value, stream
        wire.clear()
    # Blocks that an earlier test left behind may have been freed meanwhile.
    assert _codec.pool_statistics()["live_blocks"] <= before


def test_an_unused_capsule_is_freed() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(0, 1, b"k", b"v", ((b"h", b"x"),))]))
    gc.collect()
    before = _codec.pool_statistics()["live_blocks"]
    for _ in range(20):
        read.__arrow_c_array__()
        read.__arrow_c_stream__()
        read.__arrow_c_schema__()
    assert _codec.pool_statistics()["live_blocks"] <= before


RELEASE_AT = 5 * 8 + 3 * 8
"""Where an ArrowArray has its release function: behind five int64 and three pointers."""


def array_of(capsule: object) -> int:
    """The address of the ArrowArray in it."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(capsule, b"arrow_array"))


def release(array: int) -> None:
    """Calls its release function through ctypes, which lets go of the GIL while it runs."""
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(array + RELEASE_AT).value or 0)(array)


def release_in_a_thread(capsule: object) -> None:
    array = array_of(capsule)
    thread = threading.Thread(target=release, args=(array,))
    thread.start()
    thread.join()
    assert ctypes.c_void_p.from_address(array + RELEASE_AT).value is None


def test_columns_are_released_by_a_thread_that_knows_no_python() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(i, 1, b"k", bytes(1000)) for i in range(200)]))
    gc.collect()
    before = _codec.pool_statistics()["live_blocks"]
    _, capsule = read.__arrow_c_array__()
    release_in_a_thread(capsule)
    assert _codec.pool_statistics()["live_blocks"] <= before
    del capsule
    assert sys.getrefcount(read) < 10


@pytest.mark.shared_memory
def test_columns_by_the_hundred_are_released_by_threads_at_the_same_time() -> None:
    """More than the pool keeps: what is left goes back to the system, piece by piece of the sheets that hold it."""
    read = records.decode(reference.encode_batch([PlainRecord(i, 1, b"k", b"%d" % i * 500) for i in range(60)]))
    plan = _codec.ColumnPlan([(f"value_{number}", "value", "binary") for number in range(15)])
    columns = _codec.RecordColumns(plan, [(read, None, 0)])
    expected = columns.to_arrow()
    gc.collect()
    before = _codec.pool_statistics()["live_blocks"]
    capsules = [columns.__arrow_c_array__()[1] for _ in range(150)]
    together = threading.Barrier(3)

    def release_all(first: int) -> None:
        together.wait()
        for capsule in capsules[first::3]:
            release(array_of(capsule))

    threads = [threading.Thread(target=release_all, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert columns.to_arrow().equals(expected)
    capsules.clear()
    assert _codec.pool_statistics()["live_blocks"] <= before


def test_columns_are_filled_by_several_threads() -> None:
    read = records.decode(reference.encode_batch([PlainRecord(i, 1, b"k", b"v%d" % i) for i in range(2000)]))
    expected = read.to_arrow()
    wrong = []

    def fill() -> None:
        for _ in range(30):
            if not read.to_arrow().equals(expected):
                wrong.append(1)

    threads = [threading.Thread(target=fill) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.shared_memory
def test_views_pin_what_was_decoded_as_long_as_they_live() -> None:
    wire = bytearray(reference.encode_batch([PlainRecord(0, 1, b"k", b"a value longer than twelve bytes")]))
    batch = records.decode(memoryview(wire).toreadonly()).to_arrow(binary_view=True)
    value = batch["value"]
    del batch
    with pytest.raises(BufferError):
        wire.append(0)
    assert value.to_pylist() == [b"a value longer than twelve bytes"]
    del value
    records.decode(b"")  # gives back what was released meanwhile
    wire.append(0)


def test_copied_columns_pin_nothing() -> None:
    wire = bytearray(reference.encode_batch([PlainRecord(0, 1, b"k", b"a value longer than twelve bytes")]))
    value = records.decode(memoryview(wire).toreadonly()).to_arrow()["value"]
    wire.append(0)
    wire[:] = bytes(len(wire))
    assert value.to_pylist() == [b"a value longer than twelve bytes"]


@pytest.mark.shared_memory
def test_views_copy_no_bytes() -> None:
    wire = reference.encode_batch([PlainRecord(0, 1, b"k", bytes(1000))])
    batch = records.decode(wire).to_arrow(["value"], binary_view=True)
    addresses = [buffer.address for buffer in batch["value"].buffers() if buffer is not None and buffer.size >= 1000]
    lent = address_of(wire)
    assert addresses
    assert all(lent <= address < lent + len(wire) for address in addresses)


def address_of(data: bytes) -> int:
    """Where the bytes of an object lie."""
    return pa.py_buffer(data).address


def test_what_was_lent_is_given_back_after_a_thread_without_python_released_it() -> None:
    wire = bytearray(reference.encode_batch([PlainRecord(0, 1, b"k", bytes(1000))]))
    read = records.decode(memoryview(wire).toreadonly())
    _, capsule = _codec.RecordColumns(_codec.record_plan(binary_view=True), [(read, None, 0)]).__arrow_c_array__()
    del read
    release_in_a_thread(capsule)
    records.decode(b"")
    wire.append(0)


def fill_columns_while_keys_change() -> None:
    """A key takes three times as many bytes when all of it is repaired; here it changes between whole and broken."""
    whole, broken = b"a" * (1 << 20), b"\xff" * (1 << 20)
    wire = bytearray(reference.encode_batch([PlainRecord(0, 1, None, b"", ((whole, b""),))]))
    place = wire.index(whole)
    read = records.decode(memoryview(wire).toreadonly())
    stopping = threading.Event()

    def change() -> None:
        while not stopping.is_set():
            wire[place : place + len(broken)] = broken
            wire[place : place + len(whole)] = whole

    changing = threading.Thread(target=change)
    changing.start()
    for _ in range(40):
        with contextlib.suppress(CodecError):
            read.to_arrow(["headers"])
    stopping.set()
    changing.join()


def test_keys_that_change_while_columns_are_filled_do_not_write_beyond_them() -> None:
    runs_in_a_process(fill_columns_while_keys_change)


_OF_FILES = [
    ("file", "file", "string"),
    ("position", "position", "int64"),
    ("leader_epoch", "leader_epoch", "int32"),
    ("producer_id", "producer_id", "int64"),
    ("base_sequence", "base_sequence", "int32"),
]


def test_columns_of_the_file_and_the_batch() -> None:
    sets = [
        records.encode([b"a", b"b"], magic=0),
        records.encode([(b"c", b"k")] * 2, magic=1),
        records.encode([b"d"] * 2, magic=1, compression="gzip"),
        records.encode([b"e"] * 2, producer_id=7, producer_epoch=0, base_sequence=5, partition_leader_epoch=3),
    ]
    starts = [1000 + sum(map(len, sets[:number])) for number in range(4)]
    expected = [starts[0], starts[0] + len(sets[0]) // 2, starts[1], starts[1] + len(sets[1]) // 2]
    expected += [starts[2]] * 2 + [starts[3]] * 2
    found = _codec.RecordColumns(
        _codec.ColumnPlan(_OF_FILES), [(records.decode(b"".join(sets)), "t", 0, "a.log", 1000)]
    ).to_arrow()
    assert found.column("file").to_pylist() == ["a.log"] * 8
    assert found.column("position").to_pylist() == expected
    assert found.column("leader_epoch").to_pylist() == [-1] * 6 + [3] * 2
    assert found.column("producer_id").to_pylist() == [-1] * 6 + [7] * 2
    assert found.column("base_sequence").to_pylist() == [-1] * 6 + [5] * 2


def test_places_in_a_segment_of_kafka_0_7() -> None:
    messages = [records.encode([b"%d" % number], generation="0.7", magic=number % 2) for number in range(4)]
    messages.append(records.encode([b"x", b"y"], generation="0.7", compression="gzip"))
    starts = [sum(map(len, messages[:number])) for number in range(5)]
    part = (records.decode(b"".join(messages), generation="0.7"), None, 0, None, 0)
    found = _codec.RecordColumns(_codec.ColumnPlan(_OF_FILES), [part]).to_arrow()
    assert found.column("position").to_pylist() == [*starts, starts[-1]]
    assert found.column("file").to_pylist() == [""] * 6


@pytest.mark.parametrize(("topic", "file"), [("t" * 100, "f"), ("t", "f" * 100), ("", "")])
def test_names_of_any_length_stand_beside_each_other(topic: str, file: str) -> None:
    plan = _codec.ColumnPlan([("topic", "topic", "string"), ("file", "file", "string")])
    one, two = records.decode(records.encode([b"a"] * 1000)), records.decode(records.encode([b"b"] * 3))
    found = _codec.RecordColumns(plan, [(one, topic, 0, file, 0), (two, file, 1, topic, 0)]).to_arrow()
    assert found.column("topic").to_pylist() == [topic] * 1000 + [file] * 3
    assert found.column("file").to_pylist() == [file] * 1000 + [topic] * 3


def test_a_part_has_three_items_or_five() -> None:
    part: Any = (records.decode(b""), None, 0, "f")
    with pytest.raises(TypeError, match="a part of 4 items"):
        _codec.RecordColumns(_codec.ColumnPlan(_OF_FILES), [part])
