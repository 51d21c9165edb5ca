"""kwire.records reads what Kafka's own record classes wrote, and refuses the bytes that they refuse.

Message sets and batches of every magic, with every codec the magic knows, both timestamp types, headers, transactions,
control batches, and the gaps and empty batches that compaction leaves.
"""

import itertools
import random

import pytest

from kwire import records
from kwire.errors import CodecError
from tests.oracle import records as java
from tests.oracle.comparing import seen_by_kwire
from tests.oracle.damage import first_checked_place, flip_bits, with_right_checksum
from tests.oracle.driver import Oracle, RefusedError
from tests.oracle.random_records import BASE_TIME, CODECS_OF_MAGIC, FORMATS, random_records
from tests.oracle.records import BatchOptions, JavaRecord, TimestampType

_TIMESTAMP_TYPE_IDS = {"CreateTime": 0, "LogAppendTime": 1}

every_format = pytest.mark.parametrize(("magic", "codec"), FORMATS)


def assert_same_batches(oracle: Oracle, data: bytes) -> None:
    """Every field of every header of a magic 2 batch or of a compressed message is the same for both."""
    ours = records.decode(data)
    theirs = java.read(oracle, data)
    assert seen_by_kwire(data) == list(theirs.records)
    assert ours.consumed == theirs.consumed
    assert len(ours.batches) == len(theirs.batches)
    names = [name for name in java.JavaBatch.__slots__ if name not in ("records", "base_offset")]
    for header, batch in zip(ours.batches, theirs.batches, strict=True):
        assert {name: getattr(header, name) for name in names} == {name: getattr(batch, name) for name in names}
        assert header.count == len(batch.records)
        if batch.magic == 2:
            assert header.base_offset == batch.base_offset


@pytest.mark.parametrize(
    ("magic", "codec", "timestamp_type"),
    [
        (magic, codec, timestamp_type)
        for magic, codec in FORMATS
        for timestamp_type in (("CreateTime", "LogAppendTime") if magic else ("CreateTime",))
    ],
)
def test_kwire_reads_what_java_wrote(
    either_oracle: Oracle, magic: int, codec: str, timestamp_type: TimestampType
) -> None:
    for seed, count in enumerate((1, 2, 50)):
        wrote = random_records(seed, magic, base_offset=1000, count=count)
        append_time = BASE_TIME + 5 if timestamp_type == "LogAppendTime" else -1
        options = BatchOptions(magic, codec, timestamp_type, base_offset=1000, log_append_time=append_time)
        data = java.write(either_oracle, wrote, options)
        read = records.decode(data)
        assert seen_by_kwire(data) == list(java.read(either_oracle, data).records)
        assert [(r.offset, r.key, r.value) for r in read] == [(w.offset, w.key, w.value) for w in wrote]
        expected_type = -1 if magic == 0 else _TIMESTAMP_TYPE_IDS[timestamp_type]
        assert {r.timestamp_type for r in read} == {expected_type}
        assert read.consumed == len(data)


@every_format
def test_compacted_offsets_stay(oracle: Oracle, magic: int, codec: str) -> None:
    wrote = random_records(3, magic, base_offset=70, count=20, gap=5)
    last = wrote[-1].offset + 4 if magic == 2 else None
    data = java.write(oracle, wrote, BatchOptions(magic, codec, base_offset=68, last_offset=last))
    assert seen_by_kwire(data) == wrote
    if magic == 2:
        assert_same_batches(oracle, data)


@pytest.mark.parametrize("codec", CODECS_OF_MAGIC[2])
def test_transactional_batches(oracle: Oracle, codec: str) -> None:
    wrote = random_records(4, 2, base_offset=9, count=7)
    options = BatchOptions(
        compression=codec,
        base_offset=9,
        producer_id=2**40,
        producer_epoch=12,
        base_sequence=2**31 - 3,
        is_transactional=True,
        partition_leader_epoch=77,
    )
    assert_same_batches(oracle, java.write(oracle, wrote, options))


def test_control_and_empty_batches(oracle: Oracle) -> None:
    time = BASE_TIME
    data = b"".join(
        (
            java.write_end_marker(oracle, "COMMIT", offset=5, timestamp=time, producer_id=8, epoch=1),
            java.write_end_marker(oracle, "ABORT", offset=6, timestamp=time, producer_id=8, epoch=1),
            java.write_leader_change(oracle, offset=7, timestamp=time, leader_id=1, voters=(1, 2, 3)),
            java.write_empty_batch(oracle, base_offset=8, last_offset=19, timestamp=time, producer_id=8),
            java.write_empty_batch(
                oracle, base_offset=20, last_offset=20, timestamp=time, producer_id=8, is_control=True
            ),
        )
    )
    assert_same_batches(oracle, data)
    assert [batch.is_control for batch in records.decode(data).batches] == [True, True, True, False, True]
    assert [record.offset for record in records.decode(data)] == [5, 6, 7]


def test_all_magics_in_one_buffer(either_oracle: Oracle) -> None:
    parts, expected, offset = [], [], 0
    for (magic, codec), seed in zip(FORMATS, itertools.count(), strict=False):
        wrote = random_records(seed, magic, base_offset=offset, count=6)
        parts.append(java.write(either_oracle, wrote, BatchOptions(magic, codec, base_offset=offset)))
        expected += wrote
        offset = wrote[-1].offset + 1
    assert seen_by_kwire(b"".join(parts)) == expected


@every_format
def test_a_trailing_partial_batch_is_left_over(oracle: Oracle, magic: int, codec: str) -> None:
    first = java.write(oracle, random_records(1, magic, base_offset=0, count=3), BatchOptions(magic, codec))
    second_records = random_records(2, magic, base_offset=3, count=1)
    second = java.write(oracle, second_records, BatchOptions(magic, codec, base_offset=3))
    for cut in {1, 8, 11, 12, 16, 17, len(second) // 2, len(second) - 1}:
        data = first + second[:cut]
        assert records.decode(data).consumed == java.read(oracle, data).consumed == len(first)


@every_format
def test_both_judge_a_changed_bit_alike(oracle: Oracle, magic: int, codec: str) -> None:
    """At every place: kwire refuses what Kafka refuses, and reads the same where Kafka still reads."""
    rng = random.Random(magic * 10 + len(codec))
    whole = java.write(
        oracle, random_records(11, magic, base_offset=40, count=3), BatchOptions(magic, codec, base_offset=40)
    )
    for place in range(min(len(whole), 260)):
        data = flip_bits(whole, place, rng)
        assert _outcome_of_kwire(data) == _outcome_of_java(oracle, data), data.hex()


@every_format
def test_kwire_accepts_no_more_than_kafka(oracle: Oracle, magic: int, codec: str) -> None:
    """Damage under a right checksum reaches what that otherwise hides: counts, lengths, varints, compressed blocks.

    Here kwire may be the stricter (Kafka reads over bytes left behind a value, or a length of -5 for null), but what it
    reads must be what Kafka reads.
    """
    rng = random.Random(magic * 10 + len(codec))
    for seed in (5, 6):
        wrote = random_records(seed, magic, base_offset=40, count=1 if magic < 2 and codec == "none" else 3)
        whole = java.write(oracle, wrote, BatchOptions(magic, codec, base_offset=40))
        for place in range(first_checked_place(magic), min(len(whole), 400)):
            data = with_right_checksum(flip_bits(whole, place, rng))
            ours = _outcome_of_kwire(data)
            assert ours in ("refused", _outcome_of_java(oracle, data)), data.hex()


def _outcome_of_kwire(data: bytes) -> list[JavaRecord] | str:
    try:
        return seen_by_kwire(data)
    except CodecError:
        return "refused"


def _outcome_of_java(oracle: Oracle, data: bytes) -> list[JavaRecord] | str:
    try:
        return list(java.read(oracle, data).records)
    except RefusedError:
        return "refused"
