"""kwire.records reads the log segments that real brokers wrote to disk, release by release."""

import time
from collections.abc import Callable

import pytest

from kwire import records
from tests.brokers import Cluster
from tests.brokers.peers import Confluent, KafkaPython, PeerRecord
from tests.brokers.peers.peer import WITHIN_S

_RECORDS = [PeerRecord(f"value {index}".encode() * (index % 5), f"key {index}".encode()) for index in range(30)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_segment_reads_as_it_was_produced(kafka: Cluster, codec: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    KafkaPython(kafka).produce(topic, _RECORDS, compression=codec)
    (segment,) = kafka.segments(topic)
    read = records.decode(segment.read_bytes())
    assert [(r.offset, r.key, r.value) for r in read] == [(n, r.key, r.value) for n, r in enumerate(_RECORDS)]
    assert {batch.magic for batch in read.batches} == {kafka.release.newest_magic}
    assert {batch.compression for batch in read.batches} == {codec}


@pytest.mark.needs("transactions")
def test_transactions_leave_control_batches(kafka: Cluster, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    Confluent(kafka).produce_transactions(topic, [([b"kept"], True), ([b"dropped", b"too"], False)])
    read = _wait_for_batches(kafka, topic, 4)
    assert [(b.is_transactional, b.is_control, b.count) for b in read.batches] == [
        (True, False, 1),
        (True, True, 1),
        (True, False, 2),
        (True, True, 1),
    ]
    commit, abort = (r.key for r in read if r.offset in (1, 4))
    assert (commit, abort) == (b"\0\0\0\1", b"\0\0\0\0")


def _wait_for_batches(cluster: Cluster, topic: str, count: int) -> records.Records:
    """The broker writes the marker of a transaction after it has answered the client."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        (segment,) = cluster.segments(topic)
        read = records.decode(segment.read_bytes())
        if len(read.batches) >= count or time.monotonic() > deadline:
            return read
        time.sleep(0.02)
