"""`kwire dump`: every kind of file of a log directory, records of Kafka's own topics, damage and what follows it."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kwire import protocol, records
from kwire._codec import crc32c
from tests.cli.conftest import Kwire
from tests.cli.shell import Outcome
from tests.timing import PATIENT

SOURCE = str(Path(__file__).parents[2] / "src")
VALUES = b"zero\none\nzwei \xc3\xbc\n\xff\x00\n"


def written(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


def segment(folder: Path, content: bytes, base: int = 0) -> Path:
    return written(folder, f"{base:020d}.log", content)


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """The rows, without the path of the file."""
    found = [json.loads(line) for line in outcome.lines]
    return [{key: value for key, value in row.items() if key != "file"} for row in found]


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A segment of four sets of three formats."""
    return segment(
        tmp_path / "orders-0",
        records.encode([(b"zero", b"k", None)], magic=0)
        + records.encode([(b"one", b"k", 1_700_000_000_000)], magic=1, compression="gzip", base_offset=1)
        + records.encode([("zwei \u00fc".encode(), None, 1_700_000_000_001, [("h", b"1"), ("n", None)])], base_offset=2)
        + records.encode([(b"\xff\x00", None, 5)], base_offset=3, producer_id=9, producer_epoch=1, base_sequence=7),
    )


def test_records_have_the_keys_of_consume(kwire: Kwire, orders: Path) -> None:
    outcome = kwire("dump", "--records", "--json", str(orders))
    assert outcome.code == 0
    assert [row for row in rows(outcome) if row.pop("kind") == "record"] == [
        {"offset": 0, "timestamp": None, "key": "k", "value": "zero"},
        {"offset": 1, "timestamp": 1_700_000_000_000, "key": "k", "value": "one"},
        {
            "offset": 2,
            "timestamp": 1_700_000_000_001,
            "key": None,
            "value": "zwei ü",
            "headers": [["h", "1"], ["n", None]],
        },
        {"offset": 3, "timestamp": 5, "key": None, "value": {"base64": "/wA="}},
    ]


def test_batches_have_all_of_their_headers(kwire: Kwire, orders: Path) -> None:
    first, second, _, last = rows(kwire("dump", "--json", str(orders)))
    assert (first["magic"], first["timestamp_type"], first["max_timestamp"], first["crc"] > 0) == (
        0,
        "none",
        None,
        True,
    )
    assert (second["base_offset"], second["compression"], second["position"]) == (1, "gzip", first["size"])
    assert last == {
        "kind": "batch",
        "position": orders.stat().st_size - last["size"],
        "size": last["size"],
        "base_offset": 3,
        "last_offset": 3,
        "count": 1,
        "magic": 2,
        "compression": "none",
        "timestamp_type": "create",
        "max_timestamp": 5,
        "producer_id": 9,
        "producer_epoch": 1,
        "base_sequence": 7,
        "last_sequence": 7,
        "leader_epoch": -1,
        "transactional": False,
        "control": False,
        "delete_horizon": None,
        "crc": int.from_bytes(orders.read_bytes()[-last["size"] :][17:21], "big"),
    }


def test_the_table_is_for_reading(kwire: Kwire, orders: Path) -> None:
    heading, head, *batches = kwire("dump", str(orders)).lines
    assert heading == f"{orders}: segment of orders-0, {orders.stat().st_size} bytes"
    assert head.split()[:2] == ["position", "size"]
    assert [line.split()[2] for line in batches] == ["0", "1", "2", "3"]
    with_records = kwire("dump", "-r", str(orders)).lines
    assert [line.split()[0] for line in with_records[1::2]] == ["batch:"] * 4
    assert [line.split()[0] for line in with_records[2::2]] == ["0", "1", "2", "3"]


def test_values_are_the_bytes_themselves(kwire: Kwire, orders: Path) -> None:
    assert kwire("dump", "--output", "value", str(orders)).out == VALUES


def test_offsets_choose_batches_and_records(kwire: Kwire, tmp_path: Path) -> None:
    content = b"".join(records.encode([b"a", b"b", b"c"], base_offset=at) for at in (0, 3, 6))
    path = segment(tmp_path / "orders-0", content)
    found = rows(kwire("dump", "-r", "--json", "--from", "4", "--to", "7", str(path)))
    assert [(row["kind"], row.get("offset", row.get("base_offset"))) for row in found] == [
        *(("batch", 3), ("record", 4), ("record", 5), ("batch", 6), ("record", 6))
    ]


def test_standard_input_and_gzip_are_read(kwire: Kwire, orders: Path) -> None:
    packed = gzip.compress(orders.read_bytes())
    assert kwire("dump", "--output", "value", "-", stdin=orders.read_bytes()).out == VALUES
    assert kwire("dump", "--output", "value", "-", stdin=packed).out == VALUES
    orders.write_bytes(packed)
    assert kwire("dump", "--output", "value", str(orders)).out == VALUES
    assert "limit for gzip" in kwire("dump", "--max-input", "10", str(orders)).err


def test_damage_is_told_with_its_byte_and_what_follows_is_read(kwire: Kwire, tmp_path: Path) -> None:
    one, two, three = (records.encode([value], base_offset=at) for at, value in enumerate((b"one", b"two", b"three")))
    damaged = two.replace(b"two", b"2wo")
    path = segment(tmp_path / "orders-0", one + damaged + three + one[:40])
    outcome = kwire("dump", "--json", "-r", str(path))
    assert outcome.code == 3
    found = rows(outcome)
    assert [(row["kind"], row["position"]) for row in found if row["kind"] != "record"] == [
        ("batch", 0),
        ("damage", len(one)),
        ("batch", len(one + two)),
        ("damage", len(one + two + three)),
    ]
    assert [row["value"] for row in found if row["kind"] == "record"] == ["one", "three"]
    first, second = outcome.err.splitlines()
    assert first.startswith(f"kwire dump: {path} at byte {len(one)}: the checksum does not match")
    assert "the segment ends within a batch" in second
    whole = kwire("dump", "--no-crc", "--output", "value", str(path))
    assert whole.out == b"one\n2wo\nthree\n"


def test_a_file_that_is_all_damage(kwire: Kwire, tmp_path: Path) -> None:
    outcome = kwire("dump", str(segment(tmp_path / "orders-0", b"nothing of a log" * 10)))
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1


def test_room_that_was_allocated_ahead_is_no_damage(kwire: Kwire, tmp_path: Path) -> None:
    outcome = kwire("dump", str(segment(tmp_path / "orders-0", records.encode([b"a"]) + bytes(500))))
    assert (outcome.code, outcome.err) == (0, "")


def test_batches_that_unpack_to_too_much_are_told(kwire: Kwire, tmp_path: Path) -> None:
    bomb = records.encode([b"\0" * 10_000] * 40_000, compression="zstd")
    outcome = kwire("dump", str(segment(tmp_path / "orders-0", bomb)))
    assert outcome.code == 1
    assert "limit" in outcome.err


def test_indexes_snapshots_and_checkpoints(kwire: Kwire, tmp_path: Path) -> None:
    folder, stem = tmp_path / "orders-0", f"{100:020d}"
    written(folder, f"{stem}.index", struct.pack(">iiii", 5, 4100, 9, 8200) + bytes(800))
    written(folder, f"{stem}.timeindex", struct.pack(">qi", 1_700_000_000_000, 5) + bytes(120))
    written(folder, f"{stem}.txnindex", struct.pack(">hqqqq", 0, 7, 101, 105, 101))
    entry = struct.pack(">qhiqiqiq", 7, 1, 3, 105, 4, 1_700_000_000_000, 0, -1)
    body = struct.pack(">i", 1) + entry
    written(folder, f"{stem}.snapshot", struct.pack(">hI", 1, crc32c(body)) + body)
    written(folder, "leader-epoch-checkpoint", b"0\n2\n0 0\n3 104\n")
    written(folder, "partition.metadata", b"version: 0\ntopic_id: k-5xPVGHRFqOQk2bmzbdlg\n")
    written(tmp_path, "recovery-point-offset-checkpoint", b"0\n1\norders 0 106\n")
    written(tmp_path, "meta.properties", b"#\nversion=1\nnode.id=3\n")
    written(tmp_path, ".lock", b"")
    outcome = kwire("dump", "--json", str(tmp_path))
    assert (outcome.code, outcome.err) == (0, "")
    assert rows(outcome) == [
        {"kind": "property", "name": "version", "value": "1"},
        {"kind": "property", "name": "node.id", "value": "3"},
        {"kind": "offset", "offset": 105, "position": 4100},
        {"kind": "offset", "offset": 109, "position": 8200},
        {
            "kind": "producer",
            "producer_id": 7,
            "epoch": 1,
            "last_sequence": 3,
            "last_offset": 105,
            "offset_delta": 4,
            "timestamp": 1_700_000_000_000,
            "coordinator_epoch": 0,
            "first_offset": -1,
        },
        {"kind": "time", "timestamp": 1_700_000_000_000, "offset": 105},
        {"kind": "aborted", "producer_id": 7, "first_offset": 101, "last_offset": 105, "last_stable_offset": 101},
        {"kind": "epoch", "epoch": 0, "start_offset": 0},
        {"kind": "epoch", "epoch": 3, "start_offset": 104},
        {"kind": "property", "name": "version", "value": "0"},
        {"kind": "property", "name": "topic_id", "value": "k-5xPVGHRFqOQk2bmzbdlg"},
        {"kind": "checkpoint", "topic": "orders", "partition": 0, "offset": 106},
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (f"{0:020d}.index", struct.pack(">iiii", 9, 8200, 5, 4100)),
        (f"{0:020d}.index", struct.pack(">iii", 9, 8200, 5)),
        (f"{0:020d}.timeindex", struct.pack(">qiqi", 9, 2, 8, 3)),
        (f"{0:020d}.txnindex", struct.pack(">hqqqq", 3, 7, 101, 105, 101)),
        (f"{0:020d}.snapshot", struct.pack(">hIi", 1, 77, 0)),
        ("leader-epoch-checkpoint", b"0\n1\nzero 0\n"),
        ("leader-epoch-checkpoint", b"0\n1\n0 --5\n"),
        ("leader-epoch-checkpoint", "0\n1\n0 \u00b2\n".encode()),
        ("recovery-point-offset-checkpoint", b"0\n1\norders 0 " + b"9" * 5000),
        ("replication-offset-checkpoint", b"7\n0\n"),
        ("quorum-state", b'{"leaderId": '),
    ],
)
def test_damage_beside_segments(kwire: Kwire, tmp_path: Path, name: str, content: bytes) -> None:
    outcome = kwire("dump", "--json", str(written(tmp_path / "orders-0", name, content)))
    assert outcome.code in (1, 3)
    assert rows(outcome)[-1]["kind"] == "damage"
    assert outcome.err.count("\n") == 1


def test_records_of_kafkas_own_topics_are_shown_as_messages(kwire: Kwire, tmp_path: Path) -> None:
    key, value = protocol.logs.OffsetCommitKey(group="g", topic="t"), protocol.logs.OffsetCommitValue(offset=42)
    content = records.encode([(value.to_log(3), key.to_log()), (None, key.to_log())])
    path = segment(tmp_path / "__consumer_offsets-12", content)
    _, commit, tombstone = rows(kwire("dump", "-r", "--json", str(path)))
    assert commit["key"] == {
        "message": "OffsetCommitKey",
        "version": 0,
        "fields": {"group": "g", "topic": "t", "partition": 0},
    }
    assert (commit["value"]["message"], commit["value"]["version"]) == ("OffsetCommitValue", 3)
    assert commit["value"]["fields"]["offset"] == 42
    assert tombstone["value"] is None
    assert "OffsetCommitValue v3(offset=42" in kwire("dump", "-r", str(path)).out.decode()
    elsewhere = written(tmp_path / "copies", "x.bin", content)
    named = ("--as", "segment", "--topic", "__consumer_offsets")
    _, moved, _ = rows(kwire("dump", "-r", "--json", *named, str(elsewhere)))
    assert moved["key"] == commit["key"]


def test_snapshots_of_the_metadata_and_control_records(kwire: Kwire, tmp_path: Path) -> None:
    topic = protocol.logs.TopicRecord(name="orders", topic_id=protocol.logs.TopicRecord().topic_id).to_log(0)
    leader = protocol.control_records.LeaderChangeMessage(leader_id=3).encode(0)
    content = records.encode([(leader, b"\0\0\0\2")], is_control=True, producer_id=-1) + records.encode(
        [topic, b"\x01\x7f\x00"], base_offset=1
    )
    path = written(tmp_path / "__cluster_metadata-0", f"{2:020d}-{1:010d}.checkpoint", content)
    outcome = kwire("dump", "-r", "--json", str(path))
    assert outcome.code == 0
    found = [row for row in rows(outcome) if row["kind"] == "record"]
    assert found[0]["value"]["message"] == "LeaderChangeMessage"
    assert found[0]["value"]["fields"]["leader_id"] == 3
    assert found[1]["value"]["fields"] == {"name": "orders", "topic_id": "AAAAAAAAAAAAAAAAAAAAAA"}
    assert "no record type 127" in found[2]["value"]["problem"]


def test_segments_of_kafka_0_7(kwire: Kwire, tmp_path: Path) -> None:
    path = written(tmp_path / "clicks-0", f"{500:020d}.kafka", records.encode([b"one", b"two"], generation="0.7"))
    found = rows(kwire("dump", "-r", "--json", str(path)))
    assert [row["offset"] for row in found if row["kind"] == "record"] == [500, 513]
    assert kwire("dump", "--output", "value", str(path)).out == b"one\ntwo\n"


def test_a_name_that_says_nothing(kwire: Kwire, tmp_path: Path) -> None:
    path = written(tmp_path, "x.bin", records.encode([b"a"]))
    outcome = kwire("dump", str(path), "/no/such/file")
    assert outcome.code == 1
    assert "--as says what it is" in outcome.err
    assert "/no/such/file: nothing is there" in outcome.err
    assert kwire("dump", "--as", "segment", "--output", "value", str(path)).out == b"a\n"


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    path = segment(tmp_path / "orders-0", records.encode([b"%d" % n for n in range(200_000)]))
    command = [sys.executable, "-m", "kwire", "dump", "--output", "value", str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCE}
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENT) == 1


def test_a_folder_without_anything_of_a_log_is_told(kwire: Kwire, tmp_path: Path) -> None:
    written(tmp_path / "other", "notes.txt", b"")
    outcome = kwire("dump", str(tmp_path))
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.err == f"kwire dump: {tmp_path}: no file of a log directory is in this folder\n"
