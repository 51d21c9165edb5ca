"""The function that `encode_record_sets` runs in the workers, and the table functions of SQL, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kwire import records
from kwire.errors import CodecError, ConfigError
from kwire.spark.records.encode import RecordSetEncoder, _Settings
from kwire.spark.records.udtfs import (
    DecodeRecordSet,
    DecodeRecordSets,
    DecodeRecordSetsByRow,
    EncodeRecordSets,
    EncodeRecordSetsByRow,
)

TABLE = pa.record_batch(
    {
        "value": pa.array([b"a", None, b"c"], pa.binary()),
        "key": pa.array(["k", "l", None]),
        "timestamp": pa.array([1_000, None, 3_000], pa.timestamp("ms", "UTC")),
    }
)


def encoded(table: pa.RecordBatch, **settings: Any) -> list[bytes]:
    settings.setdefault("keep", ())
    (found,) = RecordSetEncoder(_Settings(**settings))(iter([table]))
    return [blob.as_py() for blob in found.column("record_set")]


@pytest.mark.parametrize(("magic", "codec"), [(2, "zstd"), (1, "lz4"), (0, "none")])
def test_one_batch(magic: int, codec: str) -> None:
    (blob,) = encoded(TABLE, magic=magic, compression=codec)
    found = records.decode(blob)
    assert {(batch.magic, batch.compression) for batch in found.batches} == {(magic, codec)}
    assert [(r.offset, r.key, r.value) for r in found] == [(0, b"k", b"a"), (1, b"l", None), (2, None, b"c")]
    assert [r.timestamp for r in found] == ([1000, -1, 3000] if magic else [-1] * 3)


def test_offsets_are_kept() -> None:
    table = TABLE.append_column("offset", pa.array([7, 8, 20]))
    assert [[r.offset for r in records.decode(blob)] for blob in encoded(table)] == [[7, 8], [20]]
    missing = TABLE.append_column("offset", pa.array([7, None, 20]))
    with pytest.raises(CodecError, match="offset of row 1 is null"):
        encoded(missing)


def test_a_batch_for_each_stretch_of_kept_values() -> None:
    table = pa.record_batch({"value": [b"%d" % n for n in range(6)], "c0": ["a", "a", None, None, "a", "b"]})
    (found,) = RecordSetEncoder(_Settings(keep=("topic",)))(iter([table]))
    assert found.column("topic").to_pylist() == ["a", None, "a", "b"]
    assert [records.decode(blob.as_py()).values() for blob in found.column("record_set")] == [
        [b"0", b"1"],
        [b"2", b"3"],
        [b"4"],
        [b"5"],
    ]


def test_batches_end_at_max_bytes() -> None:
    table = pa.record_batch({"value": [b"x" * 1000] * 100})
    blobs = encoded(table, max_bytes=10_000)
    assert len(blobs) == 16
    assert sum(len(records.decode(blob)) for blob in blobs) == 100
    assert max(map(len, blobs)) < 11_000


def test_rows_at_fault_are_named() -> None:
    table = pa.record_batch({"value": [b"v"], "timestamp": pa.array([-5], pa.timestamp("ms"))})
    with pytest.raises(CodecError, match="rows 3 to 3 of this task"):
        list(RecordSetEncoder(_Settings())(iter([TABLE, table])))


def decoded(batches: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_table_functions() -> None:
    (found,) = EncodeRecordSets().eval(TABLE, pa.array(["zstd"]))
    rows = decoded(DecodeRecordSets().eval(found))
    assert [(row[0], row[2], row[3], row[4], row[5]) for row in rows] == [
        (0, 0, b"k", b"a", None),
        (1, 0, b"l", None, None),
        (2, 0, None, b"c", None),
    ]
    blob = found.column(0)[0].as_py()
    assert list(DecodeRecordSet().eval(blob)) == rows == list(DecodeRecordSetsByRow().eval((blob,)))
    assert list(DecodeRecordSet().eval(None)) == []
    with pytest.raises(ConfigError, match="select the one binary column"):
        list(DecodeRecordSets().eval(TABLE.select(["key"])))
    with pytest.raises(ConfigError, match="no column value"):
        list(EncodeRecordSets().eval(TABLE.select(["key"])))
    with pytest.raises(ConfigError, match="compression 'zip'"):
        list(EncodeRecordSets().eval(TABLE, pa.array(["zip"])))


def test_rows_become_sets_in_spark_4_0() -> None:
    function = EncodeRecordSetsByRow()
    blobs = []
    for offset in (5, 6, 9):
        row = {"value": "v", "key": None, "offset": offset, "headers": [{"key": "h", "value": b"x"}], "timestamp": 7}
        blobs += list(function.eval(SimpleNamespace(asDict=lambda row=row: row), "gzip"))
    blobs += list(function.terminate())
    found = [[(r.offset, r.value, r.timestamp, r.headers) for r in records.decode(blob)] for (blob,) in blobs]
    headers = (("h", b"x"),)
    assert found == [[(5, b"v", 7, headers), (6, b"v", 7, headers)], [(9, b"v", 7, headers)]]
