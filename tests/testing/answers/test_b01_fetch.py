"""Fetch: the long poll, the byte limits, the formats of old versions."""

from __future__ import annotations

import pytest

from kwire import records
from kwire.errors import broker as codes
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce, values


@pytest.fixture
def broker() -> InProcess:
    made = InProcess("3.9.2")
    made.cluster.create_topic("orders", 3)
    return made


def fill(broker: InProcess, *record_sets: bytes, partition: int = 0) -> None:
    for record_set in record_sets:
        magic = record_set[16]
        response = broker.ask(produce(record_set, partition=partition), 9 if magic == 2 else magic + 1)
        assert response.responses[0].partition_responses[0].error_code == 0


def read(broker: InProcess, version: int, offset: int = 0, **options: object) -> list[object]:
    response = broker.ask(fetch(offset, **options), version)  # type: ignore[arg-type]
    return [partition for topic in response.responses for partition in topic.partitions]


@pytest.mark.parametrize("version", range(4, 13))
def test_records_are_read_as_they_are_stored(broker: InProcess, version: int) -> None:
    fill(broker, batch(b"a", b"b"), batch(b"c", compression="lz4"))
    [partition] = read(broker, version)
    assert (partition.error_code, partition.high_watermark) == (0, 3)  # type: ignore[attr-defined]
    assert [(r.offset, r.value) for r in records.decode(partition.records)] == [  # type: ignore[attr-defined]
        (0, b"a"), (1, b"b"), (2, b"c"),
    ]  # fmt: skip
    [whole] = read(broker, version, 1)
    assert values(whole.records)[0] == b"a", "a batch is given whole, from wherever the reader starts"  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", range(13, 19))
def test_topics_are_named_by_id_from_version_13_on(version: int) -> None:
    broker = InProcess()
    topic = broker.cluster.create_topic("orders", 1)
    broker.ask(produce(batch(b"a"), topic_id=topic.topic_id), 13)
    response = broker.ask(fetch(0, topic_id=topic.topic_id), version)
    assert response.responses[0].topic_id == topic.topic_id
    assert values(response.responses[0].partitions[0].records) == [b"a"]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
def test_old_versions_get_the_format_they_know(broker: InProcess, version: int, compression: str) -> None:
    fill(broker, records.encode([(b"a", b"k", 1000, [("h", b"1")]), (b"b", None, 1001)], compression=compression))
    [partition] = read(broker, version)
    found = records.decode(partition.records)  # type: ignore[attr-defined]
    assert {entry.magic for entry in found.batches} == {0 if version < 2 else 1}
    assert [(r.offset, r.key, r.value) for r in found] == [(0, b"k", b"a"), (1, None, b"b")]
    if version >= 2:
        assert [r.timestamp for r in found] == [1000, 1001]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
def test_message_sets_are_kept_in_their_format(broker: InProcess, magic: int, compression: str) -> None:
    fill(broker, batch(b"z"), batch(b"a", b"b", magic=magic, compression=compression), batch(b"c", magic=magic))
    [partition] = read(broker, 11, 1)
    found = records.decode(partition.records)  # type: ignore[attr-defined]
    assert [(r.offset, r.value) for r in found] == [(1, b"a"), (2, b"b"), (3, b"c")]
    assert {entry.magic for entry in found.batches} == {magic}


def test_zstd_is_refused_to_those_who_cannot_know_it(broker: InProcess) -> None:
    fill(broker, batch(b"a", compression="zstd"))
    assert read(broker, 9)[0].error_code == codes.UNSUPPORTED_COMPRESSION_TYPE.code  # type: ignore[attr-defined]
    assert read(broker, 10)[0].error_code == 0  # type: ignore[attr-defined]


def test_the_first_entry_is_whole_and_the_limit_soft(broker: InProcess) -> None:
    entry = batch(b"x" * 1000)
    for partition in (0, 1):
        fill(broker, entry, entry, entry, partition=partition)
    sizes = [len(p.records) for p in read(broker, 11, partitions=[0, 1], max_bytes=10)]  # type: ignore[attr-defined]
    assert sizes == [len(entry), 0]
    sizes = [len(p.records) for p in read(broker, 11, partitions=[1, 0], max_bytes=2 * len(entry) + 5)]  # type: ignore[attr-defined]
    assert sizes == [2 * len(entry), 0]
    sizes = [len(p.records) for p in read(broker, 11, partitions=[2, 0, 1], partition_max_bytes=1)]  # type: ignore[attr-defined]
    assert sizes == [0, len(entry), 0]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_up_to_version_2_a_large_entry_is_cut(broker: InProcess, version: int) -> None:
    fill(broker, batch(b"x" * 1000, magic=0))
    [partition] = read(broker, version, partition_max_bytes=100)
    assert len(partition.records) == 100  # type: ignore[attr-defined]


def test_offsets_outside_the_log(broker: InProcess) -> None:
    fill(broker, batch(b"a", b"b"))
    assert read(broker, 11, 2)[0].error_code == 0  # type: ignore[attr-defined]
    for offset in (-1, 3):
        [partition] = read(broker, 11, offset)
        assert (partition.error_code, partition.high_watermark) == (codes.OFFSET_OUT_OF_RANGE.code, -1)  # type: ignore[attr-defined]


def test_a_fetch_waits_for_records_and_is_woken_by_them(broker: InProcess) -> None:
    waiting = broker.begin(fetch(0, max_wait_ms=500), 11)
    assert waiting.suspended is not None
    assert waiting.suspended.until == 0.5
    fill(broker, batch(b"elsewhere"), partition=1)
    assert not waiting.wake()
    fill(broker, batch(b"a"))
    assert waiting.wake()
    assert values(waiting.response.responses[0].partitions[0].records) == [b"a"]


def test_a_fetch_goes_on_waiting_for_min_bytes_until_its_time_is_over(broker: InProcess) -> None:
    waiting = broker.begin(fetch(0, max_wait_ms=500, min_bytes=1000), 11)
    fill(broker, batch(b"a"))
    assert not waiting.wake()
    broker.now = 0.499
    assert not waiting.wake()
    broker.now = 0.5
    assert waiting.wake()
    assert values(waiting.response.responses[0].partitions[0].records) == [b"a"]


def test_an_error_is_told_at_once_although_others_are_empty(broker: InProcess) -> None:
    response = broker.ask(fetch(0, partitions=[0, 9], max_wait_ms=500), 11)
    assert [p.error_code for p in response.responses[0].partitions] == [0, codes.UNKNOWN_TOPIC_OR_PARTITION.code]


def test_a_topic_that_is_deleted_wakes_its_readers(broker: InProcess) -> None:
    waiting = broker.begin(fetch(0, max_wait_ms=500), 11)
    broker.cluster.delete_topic(broker.cluster.topics["orders"])
    assert waiting.wake()
    assert waiting.response.responses[0].partitions[0].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION.code


def test_a_wrong_idea_of_the_leader_epoch_is_told(broker: InProcess) -> None:
    broker.cluster.topics["orders"].partitions[0].leader_epoch = 4
    request = fetch(0)
    for epoch, code in [(3, codes.FENCED_LEADER_EPOCH.code), (5, codes.UNKNOWN_LEADER_EPOCH.code), (4, 0), (-1, 0)]:
        request.topics[0].partitions[0].current_leader_epoch = epoch
        assert broker.ask(request, 11).responses[0].partitions[0].error_code == code
