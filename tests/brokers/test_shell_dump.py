"""`kwire dump` of what a real 4.4.0 broker wrote, beside Kafka's own DumpLogSegments: the same values, file by file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.brokers import Cluster
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_tools
from tests.brokers.peers import Confluent, PeerRecord
from tests.brokers.test_log_records import consume_in_a_group
from tests.cli.conftest import Kwire, kwire

__all__ = ["kwire"]

_RECORDS = [PeerRecord(f"value {index}".encode() * 40, f"key {index}".encode()) for index in range(1000)]
_OVERRIDES = {"log.index.interval.bytes": "500", "log.segment.bytes": str(1 << 20)}
_SEVERAL_SEGMENTS = [b"x" * 5000] * 400
_WORDS = re.compile(r"(\w+): ?(OptionalLong\S+|\S+)")
_SAME_BATCH = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "count": "count",
    "baseSequence": "base_sequence",
    "lastSequence": "last_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "leader_epoch",
    "position": "position",
    "CreateTime": "max_timestamp",
    "size": "size",
    "magic": "magic",
    "crc": "crc",
}
_SAME_BESIDE = {
    ".index": {"offset": "offset", "position": "position"},
    ".timeindex": {"timestamp": "timestamp", "offset": "offset"},
    ".txnindex": {
        "producerId": "producer_id",
        "firstOffset": "first_offset",
        "lastOffset": "last_offset",
        "lastStableOffset": "last_stable_offset",
    },
    ".snapshot": {
        "producerId": "producer_id",
        "producerEpoch": "epoch",
        "coordinatorEpoch": "coordinator_epoch",
        "lastTimestamp": "timestamp",
        "lastOffset": "last_offset",
        "lastSequence": "last_sequence",
    },
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Path]]:
    """A broker that has written segments, transactions and offsets, and a copy of its log directory."""
    with Cluster("4.4.0", overrides=_OVERRIDES) as cluster:
        peer = Confluent(cluster)
        peer.produce("plain", _RECORDS)
        peer.produce_transactions("transactions", [([b"kept"], True), ([b"dropped", b"too"], False)] * 3)
        peer.produce_transactions("transactions", [(_SEVERAL_SEGMENTS, True), ([b"last"], True)])
        peer.produce("kept-by-groups", _RECORDS[:20])
        consume_in_a_group(cluster, "kept-by-groups", "readers")
        time.sleep(1.0)
        (segment,) = cluster.segments("plain")
        folder = tmp_path_factory.mktemp("data") / "copy"
        shutil.copytree(segment.parents[1], folder)
        yield cluster, folder


def dumped_by_java(cluster: Cluster, *arguments: object) -> list[str]:
    jars = resolve_tools(cluster.release)
    command = [find_java(), "-cp", f"{jars}/*", "org.apache.kafka.tools.DumpLogSegments", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


def rows(kwire: Kwire, *arguments: object) -> list[dict[str, Any]]:
    outcome = kwire("dump", "--json", *map(str, arguments))
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return [json.loads(line) for line in outcome.lines]


def numbers(line: str) -> dict[str, int]:
    return {name: int(value) for name, value in _WORDS.findall(line) if re.fullmatch(r"-?\d+", value)}


def same(theirs: str, ours: dict[str, Any], names: dict[str, str]) -> None:
    found = numbers(theirs)
    assert {name: -1 if ours[key] is None else ours[key] for name, key in names.items() if name in found} == {
        name: found[name] for name in names if name in found
    }


@pytest.mark.parametrize("topic", ["plain", "transactions", "kept-by-groups"])
def test_batches_and_records_are_those_that_java_sees(kwire: Kwire, written: tuple[Cluster, Path], topic: str) -> None:
    cluster, folder = written
    path = sorted((folder / f"{topic}-0").glob("*.log"))[-1]
    lines = dumped_by_java(cluster, "--print-data-log", "--files", path)
    ours = rows(kwire, "--records", path)
    batches = [line for line in lines if line.startswith("baseOffset")]
    records = [line for line in lines if line.startswith("| offset")]
    found = [row for row in ours if row["kind"] == "batch"]
    assert len(batches) == len(found) > 0
    for line, row in zip(batches, found, strict=True):
        same(line, row, _SAME_BATCH)
        assert f"isTransactional: {str(row['transactional']).lower()} isControl: {str(row['control']).lower()}" in line
        assert f"compresscodec: {row['compression']} " in line
    shown = [row for row in ours if row["kind"] == "record"]
    for line, row in zip(records, shown, strict=True):
        assert numbers(line)["offset"] == row["offset"]
        assert numbers(line)["CreateTime"] == row["timestamp"]
        if isinstance(row["value"], str):
            assert line.endswith(f"payload: {row['value']}")
        else:
            (kind,) = re.findall(r"endTxnMarker: (\w+) coordinatorEpoch", line)
            assert row["key"]["fields"]["type"] == {"ABORT": 0, "COMMIT": 1}[kind]


@pytest.mark.parametrize("suffix", list(_SAME_BESIDE))
def test_what_lies_beside_segments_is_what_java_sees(kwire: Kwire, written: tuple[Cluster, Path], suffix: str) -> None:
    cluster, folder = written
    paths = sorted(path for path in folder.glob(f"[pt]*-0/*{suffix}") if path.stat().st_size)
    assert paths
    for path in paths:
        theirs = [line for line in dumped_by_java(cluster, "--files", path) if _WORDS.match(line.lstrip("| "))]
        theirs = [line for line in theirs if not line.startswith(("Dumping", "Index", "Found"))]
        ours = rows(kwire, path)
        if suffix in (".index", ".timeindex") and not ours:  # Java shows the room of an empty index as one entry
            assert not any(numbers(line)[next(iter(_SAME_BESIDE[suffix]))] for line in theirs)
            continue
        assert len(theirs) == len(ours)
        for line, row in zip(theirs, ours, strict=True):
            same(line, row, _SAME_BESIDE[suffix])


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _agrees(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, dict):
        return all(_agrees(value, ours[_snake(name)]) for name, value in theirs.items())
    if isinstance(theirs, list):
        return len(theirs) == len(ours) and all(map(_agrees, theirs, ours))
    return bool(theirs == ours)


def test_the_metadata_log_is_what_java_decodes(kwire: Kwire, written: tuple[Cluster, Path]) -> None:
    cluster, folder = written
    (path,) = (folder / "__cluster_metadata-0").glob("*.log")
    lines = dumped_by_java(cluster, "--cluster-metadata-decoder", "--skip-record-metadata", "--files", path)
    theirs = [json.loads(line[line.index("{") :]) for line in lines if '{"type":' in line]
    ours = [row["value"] for row in rows(kwire, "--records", "--secrets", path) if row["kind"] == "record"]
    found = [value for value in ours if value["message"].endswith("Record") and "version" not in value["fields"]]
    assert {each["type"] for each in theirs} > {"TOPIC_RECORD", "PARTITION_RECORD", "REGISTER_BROKER_RECORD"}
    assert len(theirs) == len(found)
    for each, value in zip(theirs, found, strict=True):
        assert value["message"].upper() == each["type"].replace("_", "")
        assert value["version"] == each["version"]
        assert _agrees(each["data"], value["fields"]), (each, value)


def test_a_whole_log_directory_is_read_without_a_fault(kwire: Kwire, written: tuple[Cluster, Path]) -> None:
    _, folder = written
    found = rows(kwire, "--records", folder)
    assert {row["kind"] for row in found} >= {
        *("batch", "record", "offset", "time", "aborted", "producer", "epoch", "property")
    }
    parts = [row.get(half) for row in found for half in ("key", "value")]
    messages = {part["message"] for part in parts if isinstance(part, dict) and "message" in part}
    assert messages >= {"OffsetCommitValue", "GroupMetadataValue", "TransactionLogValue", "TopicRecord", "EndTxnMarker"}
    assert not [row for row in found if "problem" in str(row.get("value"))]
