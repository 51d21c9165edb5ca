"""`format("kwire-log")` without Spark: options, tasks, and what tasks return."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kwire import records
from kwire.errors import ConfigError, CorruptError
from kwire.spark.logs.plan import LogTask, plan_log_tasks
from kwire.spark.logs.task import read_log_task
from kwire.spark.options.log import parse_log_options
from kwire.spark.ranges.offsets import DataLossError
from tests.log_files.written import batch, write_segment


def numbers(raw: pa.RecordBatch) -> pa.RecordBatch:
    """A decoder."""
    return pa.record_batch({"id": pa.array([int(value.as_py()) for value in raw.column("value")], pa.int64())})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for partition in range(3):
        write_segment(tmp_path / f"orders-{partition}", [batch(10 * number) for number in range(10)])
        write_segment(tmp_path / f"orders-{partition}", [batch(100), batch(110)], base=100)
    return tmp_path


def plan(path: object, **options: str) -> list[LogTask]:
    return plan_log_tasks(parse_log_options({"path": str(path), **options}))


def rows(path: object, **options: str) -> list[dict[str, Any]]:
    parsed = parse_log_options({"path": str(path), **options})
    tasks = plan_log_tasks(parsed)
    return [row for task in tasks for found in read_log_task(parsed, task) for row in found.to_pylist()]


def places(path: object, **options: str) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in rows(path, **options)]


ALL = [(partition, offset) for partition in range(3) for offset in range(120)]


def test_columns_are_those_of_the_topic_read(data: Path) -> None:
    found = rows(data)
    assert list(found[0]) == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert [(row["topic"], row["value"], row["key"]) for row in found[:2]] == [
        ("orders", b"0", b"k"),
        ("orders", b"1", b"k"),
    ]
    assert list(rows(data, includeHeaders="true")[0])[-1] == "headers"


def test_the_log_tells_what_is_planned_and_what_each_task_has_read(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with restored_levels():
        rows(data, logLevel="info", subscribe="orders", maxTasks="1", columns="offset")
    said = [record.getMessage() for record in caplog.records if record.levelname == "INFO"]
    size = sum(path.stat().st_size for path in data.glob("orders-*/*.log"))
    ranges = ", ".join(f"orders-{partition} from 0 to 120" for partition in range(3))
    assert said[0] == f"{size} bytes of segments in 1 task: {ranges}"
    assert len(said) == 7
    first = data / "orders-0" / f"{0:020d}.log"
    expected = rf"This process read orders-0, bytes 0 to \d+ of {first}: 100 rows, \d+ bytes, in \d\.\d+ s"
    assert re.fullmatch(expected, said[1])


def test_nothing_is_told_without_the_option(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows(data)
    assert not caplog.records


@contextmanager
def restored_levels() -> Iterator[None]:
    """The option sets the level of kwire's loggers for the process."""
    logger = logging.getLogger("kwire")
    level = logger.level
    try:
        yield
    finally:
        logger.setLevel(level)


def batch_offsets(content: bytes) -> range:
    first = records.decode(content).batches[0]
    return range(first.base_offset, first.last_offset + 1)


def test_where_records_are(data: Path) -> None:
    found = rows(data, columns="_file,_position,offset", maxBytesPerTask="1")
    for row in found:
        content = Path(row["_file"]).read_bytes()[row["_position"] :]
        assert row["offset"] in batch_offsets(content)


def test_what_headers_of_batches_say(tmp_path: Path) -> None:
    content = records.encode([b"a", b"b"], producer_id=7, producer_epoch=1, base_sequence=3, partition_leader_epoch=5)
    write_segment(tmp_path / "t-0", [content, batch(2, 1, magic=1)])
    found = rows(tmp_path, columns="leaderEpoch,producerId,baseSequence")
    assert [tuple(row.values()) for row in found] == [(5, 7, 3), (5, 7, 3), (-1, -1, -1)]


@pytest.mark.parametrize("size", ["1", "500", "2k", "1m"])
def test_tasks_together_are_the_whole(data: Path, size: str) -> None:
    assert places(data, maxBytesPerTask=size) == ALL


def test_the_number_of_tasks(data: Path) -> None:
    assert len(plan(data)) == 1
    assert len(plan(data, maxBytesPerTask="1")) == 36
    assert len(plan(data, maxBytesPerTask="1", maxTasks="5")) == 5
    assert 10 <= len(plan(data, minPartitions="12")) <= 14
    assert len(plan(data, maxBytesPerTask="1", onCorrupt="stop")) == 3


def test_bounds(data: Path) -> None:
    starts = json.dumps({"orders": {"0": 5, "1": -2, "2": 119}})
    ends = json.dumps({"orders": {"0": 7, "1": 1, "2": -1}})
    assert places(data, startingOffsets=starts, endingOffsets=ends) == [(0, 5), (0, 6), (1, 0), (2, 119)]
    assert places(data, startingTimestamp="1117") == [(p, o) for p, o in ALL if o >= 117]
    assert places(data, endingTimestamp="1002") == [(p, o) for p, o in ALL if o < 2]
    assert places(data, startingTimestamp="9999", startingOffsetsByTimestampStrategy="latest") == []
    with pytest.raises(ConfigError, match="No offset matched"):
        plan(data, startingTimestamp="9999")
    with pytest.raises(ConfigError, match="not named: orders-1, orders-2"):
        plan(data, startingOffsets='{"orders":{"0":1}}')


def test_offsets_that_are_not_there(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", [batch(50)], base=50)
    start = json.dumps({"orders": {"0": 7}})
    with pytest.raises(DataLossError, match=r"\[50, 60\)"):
        plan(tmp_path, startingOffsets=start)
    assert places(tmp_path, startingOffsets=start, failOnDataLoss="false") == [(0, o) for o in range(50, 60)]


def test_what_a_broker_has_deleted_from_the_front(data: Path) -> None:
    (data / "log-start-offset-checkpoint").write_text("0\n2\norders 0 30\norders 2 101\n")
    assert places(data) == [(p, o) for p, o in ALL if o >= {0: 30, 1: 0, 2: 101}[p]]


def test_chosen_partitions(data: Path) -> None:
    write_segment(data / "payments-0", [batch(0)])
    assert {row["topic"] for row in rows(data, subscribe="orders")} == {"orders"}
    assert places(data, assign='{"orders":[1]}') == [(1, offset) for offset in range(120)]
    assert {row["topic"] for row in rows(data, subscribePattern="pay")} == {"payments"}
    with pytest.raises(ConfigError, match="no segments that assign"):
        plan(data, subscribe="nothing")


def test_replicas_are_refused(data: Path, tmp_path: Path) -> None:
    write_segment(tmp_path / "other" / "orders-1", [batch(0)])
    with pytest.raises(ConfigError, match=r"orders-1 was found twice, in .*orders-1 and in .*other/orders-1"):
        plan(data)
    assert places(data, replicas="merge") == ALL


def test_a_folder_with_another_name(tmp_path: Path) -> None:
    write_segment(tmp_path / "copied", [batch(0, 1)])
    (row,) = rows(tmp_path, topic="orders", partition="4")
    assert (row["topic"], row["partition"]) == ("orders", 4)


def test_decoders(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", [records.encode([b"7", b"8"])])
    options = {"decoder": f"{__name__}:numbers", "decoder.schema": "id BIGINT", "columns": "id,offset,_position"}
    assert [tuple(row.values()) for row in rows(tmp_path, **options)] == [(7, 0, 0), (8, 1, 0)]


def test_damage(data: Path) -> None:
    path = data / "orders-1" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[len(batch(0)) + 70] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptError, match=rf"{path} at byte {len(batch(0))}: orders-1, offset 10: the checksum"):
        rows(data)
    assert places(data, onCorrupt="skip") == [(p, o) for p, o in ALL if p != 1 or o // 10 != 1]
    assert places(data, onCorrupt="stop", maxBytesPerTask="1") == [(p, o) for p, o in ALL if p != 1 or o < 10]


def test_a_segment_that_is_gone_since_planning(data: Path) -> None:
    options = parse_log_options({"path": str(data), "failOnDataLoss": "false", "columns": "partition,offset"})
    tasks = plan_log_tasks(options)
    path = data / "orders-1" / f"{100:020d}.log"
    path.unlink()
    found = [row for task in tasks for batch in read_log_task(options, task) for row in batch.to_pylist()]
    assert [(row["partition"], row["offset"]) for row in found] == [(p, o) for p, o in ALL if p != 1 or o < 100]
    with pytest.raises(DataLossError, match=rf"{path} is gone: orders-1 lacks"):
        list(read_log_task(replace(options, fail_on_data_loss=True), tasks[-1]))


def test_empty_folders(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", [], base=42)
    assert plan(tmp_path) == []
    with pytest.raises(DataLossError, match=r"\[42, 42\)"):
        plan(tmp_path, startingOffsets='{"orders":{"0":7}}')


def test_options_at_fault(data: Path) -> None:
    for options, message in [
        ({"onCorrupt": "ignore"}, "onCorrupt: expected 'fail', 'skip' or 'stop'"),
        ({"maxBytesPerTask": "0"}, "maxBytesPerTask"),
        ({"topic": "t"}, "topic and partition together name the folder's partition"),
        ({"isolationLevel": "dirty"}, "isolationLevel"),
        ({"columns": "_path"}, "there is no column '_path'; .* baseSequence"),
        ({"onCorupt": "skip"}, "did you mean 'onCorrupt'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            parse_log_options({"path": str(data), **options})
    with pytest.raises(ConfigError, match="no segments are named"):
        parse_log_options({})
