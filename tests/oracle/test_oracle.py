"""The oracle itself: what it writes it reads, and its refusals carry the name of the Java exception."""

import pytest

from tests.oracle import messages, records
from tests.oracle.driver import Oracle, RefusedError
from tests.oracle.records import BatchOptions, JavaRecord

_RECORDS = (
    JavaRecord(5, 1_500_000_000_000, b"key", b"value"),
    JavaRecord(7, 1_500_000_000_007, None, b""),
    JavaRecord(8, 1_500_000_000_001, b"", None),
)


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_it_writes_it_reads(either_oracle: Oracle, compression: str) -> None:
    options = BatchOptions(compression=compression, base_offset=4, producer_id=9, producer_epoch=1, base_sequence=6)
    whole = records.read(either_oracle, records.write(either_oracle, _RECORDS, options))
    assert whole.records == _RECORDS
    (batch,) = whole.batches
    assert (batch.base_offset, batch.last_offset, batch.compression) == (4, 8, compression)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 1, 6)


def test_a_changed_byte_is_refused(oracle: Oracle) -> None:
    data = bytearray(records.write(oracle, _RECORDS, BatchOptions()))
    data[-1] ^= 1
    with pytest.raises(RefusedError, match="corrupt") as refused:
        records.read(oracle, bytes(data))
    assert refused.value.java_class == "org.apache.kafka.common.errors.CorruptRecordException"


def test_random_messages_repeat_and_round_trip(oracle: Oracle) -> None:
    drawn = messages.random_message(oracle, "MetadataResponse", 13, seed=1)
    assert drawn == messages.random_message(oracle, "MetadataResponse", 13, seed=1)
    assert drawn != messages.random_message(oracle, "MetadataResponse", 13, seed=2)
    assert messages.to_json(oracle, "MetadataResponse", 13, drawn.data) == drawn.json
    assert messages.to_bytes(oracle, "MetadataResponse", 13, drawn.json) == drawn.data


def test_versions_are_the_releases_own(oracle: Oracle, old_oracle: Oracle) -> None:
    assert messages.versions(oracle, "FetchRequest") == range(4, 19)
    assert messages.versions(old_oracle, "FetchRequest") == range(18)
    assert messages.header_versions(oracle, 18, 4) == (2, 0)
