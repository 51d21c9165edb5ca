"""Segments on other file systems: whatever pyarrow knows, by URI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from kwire.errors import ConfigError
from kwire.log_files.folders import find_logs
from kwire.log_files.storage import LocalStorage
from kwire.spark.logs.plan import plan_log_tasks
from kwire.spark.logs.storage import ArrowStorage, storage_of, storages_of
from kwire.spark.logs.task import read_log_task
from kwire.spark.options.log import parse_log_options
from tests.log_files.written import STORAGE, batch, write_segment
from tests.spark.logs.object_store import object_store


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for partition in range(3):
        write_segment(tmp_path / "kafka" / f"orders-{partition}", [batch(10 * number) for number in range(10)])
    return tmp_path


def rows(*paths: str, **options: str) -> list[dict[str, Any]]:
    parsed = parse_log_options(
        {"paths": str(list(paths)).replace("'", '"'), "columns": "partition,offset,_file", **options}
    )
    return [
        row for task in plan_log_tasks(parsed) for found in read_log_task(parsed, task) for row in found.to_pylist()
    ]


def places(*paths: str, **options: str) -> list[tuple[int, int]]:
    return sorted((row["partition"], row["offset"]) for row in rows(*paths, **options))


ALL = [(partition, offset) for partition in range(3) for offset in range(100)]


def test_local_paths(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data)
    for path in (f"{data}/kafka", f"file://{data}/kafka", f"file:{data}/kafka", "kafka", "./kafka/*"):
        storage, _ = storage_of(path)
        assert isinstance(storage, LocalStorage)
        assert places(path) == ALL
    with pytest.raises(ConfigError, match="three slashes"):
        storage_of("file://var/lib")


def test_arrow_file_systems_are_as_the_local_one(data: Path) -> None:
    other = ArrowStorage(fs.SubTreeFileSystem(str(data), fs.LocalFileSystem()), "other")
    for path in ("kafka", "kafka/orders-*", f"kafka/orders-1/{0:020d}.log"):
        found = find_logs(other, [path])
        assert [log.topic for log in found]
        local = find_logs(STORAGE, [f"{data}/{path}"])
        assert [[(s.size, s.base_offset) for s in log.segments] for log in found] == [
            [(s.size, s.base_offset) for s in log.segments] for log in local
        ]
    assert other.info("nothing") is None
    with other.open(f"kafka/orders-1/{0:020d}.log") as file:
        assert bytes(file.read_at(3, 40)) == (data / f"kafka/orders-1/{0:020d}.log").read_bytes()[3:43]


def test_an_object_store(data: Path) -> None:
    with object_store(data) as store:
        uri = store.uri("kafka", "alice:wonder/land@".replace("/", "%2F"))
        found = rows(uri, maxBytesPerTask="500")
        assert sorted((row["partition"], row["offset"]) for row in found) == ALL
        assert found[0]["_file"] == f"s3://logs/kafka/orders-0/{0:020d}.log"
        assert any("alice" in each for each in store.authorizations)
        assert places(store.uri("kafka/orders-[12]")) == [place for place in ALL if place[0]]
        assert places(store.uri("kafka/orders-0"), f"{data}/kafka/orders-1") == ALL[:200]
        with pytest.raises(ConfigError, match="s3://logs/elsewhere: nothing is there") as caught:
            rows(store.uri("elsewhere", "alice:wonderland@"))
    assert "wonderland" not in str(caught.value)
    assert "wonderland" not in repr(parse_log_options({"path": "s3://alice:wonderland@logs/kafka"}))


def test_only_what_is_read_is_transferred(data: Path) -> None:
    large = data / "large" / "orders-0"
    path = write_segment(large, [batch(10 * number, 10) for number in range(20_000)])
    with object_store(data) as store:
        bounds = {
            f"{end}Offsets": f'{{"orders":{{"0":{at}}}}}' for end, at in (("starting", 100_007), ("ending", 100_040))
        }
        assert places(store.uri("large"), **bounds) == [(0, offset) for offset in range(100_007, 100_040)]
        ranges = [[int(number) for number in each.removeprefix("bytes=").split("-")] for each in store.ranges]
        assert sum(last - first for first, last in ranges) < path.stat().st_size // 2


def test_file_systems_that_are_not_there() -> None:
    with pytest.raises(ConfigError, match=r"^nonsense://bucket/x: .*nonsense") as caught:
        storage_of("nonsense://key:secret@bucket/x")
    assert "secret" not in str(caught.value)


def test_each_file_system_once() -> None:
    found = storages_of(["/a", "file:///b", "/c"])
    assert [paths for _, paths in found] == [["/a", "/b", "/c"]]
