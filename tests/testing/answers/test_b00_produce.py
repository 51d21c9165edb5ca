"""Produce: what is taken, what is refused with which code, and what a repeated batch is told."""

from __future__ import annotations

import struct

import pytest

from kwire import records
from kwire.errors import broker as codes
from kwire.testing.requests import CloseConnectionError
from tests.testing.in_process import WALL_CLOCK_MS, InProcess
from tests.testing.wire import batch, fetch, produce, values


@pytest.fixture
def broker() -> InProcess:
    made = InProcess("3.9.2")
    made.cluster.create_topic("orders", 3)
    return made


def outcome(broker: InProcess, record_set: bytes, version: int = 9, **options: object) -> tuple[int, int]:
    response = broker.ask(produce(record_set, **options), version)  # type: ignore[arg-type]
    answered = response.responses[0].partition_responses[0]
    return answered.error_code, answered.base_offset


@pytest.mark.parametrize("version", range(3, 12))
def test_a_batch_is_appended_in_every_version(broker: InProcess, version: int) -> None:
    assert outcome(broker, batch(b"one", b"two"), version) == (0, 0)
    assert outcome(broker, batch(b"three"), version) == (0, 2)
    [log] = [broker.cluster.topics["orders"].partitions[0].log]
    assert values(log.whole()) == [b"one", b"two", b"three"]
    assert [record.offset for record in records.decode(log.whole())] == [0, 1, 2]


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (2, 0)])
def test_message_sets_are_appended_by_old_versions(broker: InProcess, version: int, magic: int) -> None:
    assert outcome(broker, batch(b"one", b"two", magic=magic), version) == (0, 0)
    assert outcome(broker, batch(b"three", magic=magic, compression="gzip"), version) == (0, 2)


def test_topics_are_named_by_id_from_version_13_on() -> None:
    broker = InProcess()
    topic = broker.cluster.create_topic("orders", 1)
    assert outcome(broker, batch(b"one"), 13, topic_id=topic.topic_id) == (0, 0)
    unknown = topic.topic_id.__class__(int=5)
    assert outcome(broker, batch(b"one"), 13, topic_id=unknown) == (codes.UNKNOWN_TOPIC_ID.code, -1)


@pytest.mark.parametrize(
    ("record_set", "version", "code"),
    [
        (batch(b"a") + batch(b"b"), 9, codes.INVALID_RECORD.code),
        (b"", 9, codes.INVALID_RECORD.code),
        (batch(b"a", magic=1), 9, codes.INVALID_RECORD.code),
        (batch(b"a", compression="zstd"), 6, codes.UNSUPPORTED_COMPRESSION_TYPE.code),
        (batch(b"a")[:-1] + b"?", 9, codes.CORRUPT_MESSAGE.code),
        (batch(b"a", magic=0)[:-1] + b"?", 1, codes.CORRUPT_MESSAGE.code),
        (b"\0" * 40, 1, codes.CORRUPT_MESSAGE.code),
        (batch(b"a", is_transactional=True, producer_id=5, producer_epoch=0, base_sequence=0), 9,
         codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code),
        (batch(b"x" * 1_048_588), 9, codes.MESSAGE_TOO_LARGE.code),
    ],
)  # fmt: skip
def test_what_is_refused_is_not_appended(broker: InProcess, record_set: bytes, version: int, code: int) -> None:
    assert outcome(broker, record_set, version) == (code, -1)
    assert broker.cluster.topics["orders"].partitions[0].log.end_offset == 0


def test_an_incomplete_message_is_left_out_without_an_error(broker: InProcess) -> None:
    assert outcome(broker, batch(b"a", magic=0)[:-1], 1) == (0, -1)
    assert outcome(broker, b"", 1) == (0, -1)


def test_a_batch_that_claims_another_count_than_it_holds_is_refused(broker: InProcess) -> None:
    from kwire._codec import crc32c

    lying = bytearray(batch(b"a", b"b"))
    struct.pack_into(">i", lying, 23, 7)
    struct.pack_into(">I", lying, 17, crc32c(bytes(lying[21:])))
    assert outcome(broker, bytes(lying)) == (codes.INVALID_RECORD.code, -1)


def test_places_that_do_not_exist_and_acks_that_mean_nothing(broker: InProcess) -> None:
    assert outcome(broker, batch(b"a"), topic="none") == (codes.UNKNOWN_TOPIC_OR_PARTITION.code, -1)
    assert outcome(broker, batch(b"a"), partition=3) == (codes.UNKNOWN_TOPIC_OR_PARTITION.code, -1)
    assert outcome(broker, batch(b"a"), partition=-1) == (codes.UNKNOWN_TOPIC_OR_PARTITION.code, -1)
    assert outcome(broker, batch(b"a"), acks=2) == (codes.INVALID_REQUIRED_ACKS.code, -1)


def test_the_reason_is_told_from_version_8_on(broker: InProcess) -> None:
    response = broker.ask(produce(batch(b"a"), topic="none"), 8)
    assert "none" in response.responses[0].partition_responses[0].error_message


def test_acks_0_has_no_answer_and_closes_on_an_error(broker: InProcess) -> None:
    assert broker.ask(produce(batch(b"a"), acks=0), 9) is None
    assert broker.cluster.topics["orders"].partitions[0].log.end_offset == 1
    with pytest.raises(CloseConnectionError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        broker.ask(produce(batch(b"a"), acks=0, partition=9), 9)


def test_append_time_is_stamped_and_answered(broker: InProcess) -> None:
    broker.cluster.create_topic("stamped", 1, {"message.timestamp.type": "LogAppendTime"})
    response = broker.ask(produce(batch(b"a", b"b"), topic="stamped"), 9)
    assert response.responses[0].partition_responses[0].log_append_time_ms == WALL_CLOCK_MS
    stored = broker.cluster.topics["stamped"].partitions[0].log.whole()
    assert [(r.timestamp, r.timestamp_type) for r in records.decode(stored)] == [(WALL_CLOCK_MS, 1)] * 2


def idempotent(*values: bytes, sequence: int, epoch: int = 0) -> bytes:
    return batch(*values, producer_id=1001, producer_epoch=epoch, base_sequence=sequence)


def test_a_repeated_batch_is_appended_once_and_answered_alike(broker: InProcess) -> None:
    first = idempotent(b"a", b"b", sequence=0)
    assert outcome(broker, first) == (0, 0)
    assert outcome(broker, idempotent(b"c", sequence=2)) == (0, 2)
    assert outcome(broker, first) == (0, 0)
    response = broker.ask(fetch(0), 11)
    assert values(response.responses[0].partitions[0].records) == [b"a", b"b", b"c"]


def test_a_gap_and_an_old_epoch_are_refused(broker: InProcess) -> None:
    assert outcome(broker, idempotent(b"a", sequence=0)) == (0, 0)
    assert outcome(broker, idempotent(b"c", sequence=5)) == (codes.OUT_OF_ORDER_SEQUENCE_NUMBER.code, -1)
    assert outcome(broker, idempotent(b"b", sequence=0, epoch=1)) == (0, 1)
    assert outcome(broker, idempotent(b"c", sequence=1)) == (codes.INVALID_PRODUCER_EPOCH.code, -1)
    assert outcome(broker, idempotent(b"c", sequence=3, epoch=2)) == (codes.OUT_OF_ORDER_SEQUENCE_NUMBER.code, -1)


def test_an_old_release_takes_only_the_formats_it_knew() -> None:
    broker = InProcess("0.9.0.1")
    broker.cluster.create_topic("orders", 1)
    assert outcome(broker, batch(b"a", magic=0), 1) == (0, 0)
    assert outcome(broker, batch(b"a", magic=1), 1) == (codes.CORRUPT_MESSAGE.code, -1)
