"""The function that `decode_record_sets` runs in the workers, without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kwire import records
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.errors import CorruptError
from kwire.spark.records.decode import RecordSetDecoder, _blobs

BLOBS = [records.encode([b"a", b"b"]), None, b"", records.encode([b"c"], base_offset=7)]


def decoder(*keep: str) -> RecordSetDecoder:
    return RecordSetDecoder("blob", keep, ("offset", "value"), True, DEFAULT_MAX_DECOMPRESSED_BYTES, False, False)


def rows(batches: list[pa.RecordBatch], *keep: str) -> list[dict[str, object]]:
    return [row for batch in decoder(*keep)(iter(batches)) for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_each_layout_of_bytes(kind: pa.DataType) -> None:
    column = pa.array(BLOBS, pa.binary()).cast(kind) if kind != pa.binary_view() else pa.array(BLOBS, kind)
    assert rows([pa.record_batch({"blob": column})]) == [
        {"offset": 0, "value": b"a"},
        {"offset": 1, "value": b"b"},
        {"offset": 7, "value": b"c"},
    ]


def test_a_slice_of_a_column() -> None:
    whole = pa.record_batch({"blob": pa.array([BLOBS[3], *BLOBS, BLOBS[0]], pa.binary())})
    assert [row["offset"] for row in rows([whole.slice(1, 4)])] == [0, 1, 7]
    assert rows([whole.slice(0, 0)]) == []


def test_blobs_are_where_the_column_holds_them() -> None:
    column = pa.array([b"x" * 100, None, b"y" * 50], pa.binary())
    data = column.buffers()[2]
    places = [(row, blob.address - data.address, blob.size) for row, blob in _blobs(column)]
    assert places == [(0, 0, 100), (2, 100, 50)]


def test_kept_values_follow_their_rows_across_batches() -> None:
    many = [records.encode([b"%d" % number] * 7000, base_offset=number * 7000) for number in range(4)]
    batches = [
        pa.record_batch({"blob": pa.array(many[:2]), "c1": pa.array(["p", "q"])}),
        pa.record_batch({"blob": pa.array(many[2:]), "c1": pa.array(["r", None])}),
    ]
    found = rows(batches, "name")
    assert [row["offset"] for row in found] == list(range(28_000))
    assert [row["name"] for row in found] == ["p"] * 7000 + ["q"] * 7000 + ["r"] * 7000 + [None] * 7000


def test_the_row_at_fault_is_counted_over_the_whole_task() -> None:
    broken = bytearray(records.encode([b"broken"]))
    broken[-2] ^= 0xFF
    good = pa.record_batch({"blob": pa.array(BLOBS, pa.binary())})
    bad = pa.record_batch({"blob": pa.array([None, bytes(broken)], pa.binary())})
    with pytest.raises(CorruptError, match="column 'blob', row 5 of this task: ") as caught:
        rows([good, bad])
    assert caught.value.field is not None
    assert caught.value.offset is not None
