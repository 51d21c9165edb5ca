"""Kafka's own record classes read what kwire.records wrote: every magic, every codec the magic knows, all fields."""

import pytest

from kwire import records
from tests.oracle import records as java
from tests.oracle.driver import Oracle
from tests.oracle.random_records import FORMATS, random_records

every_format = pytest.mark.parametrize(("magic", "codec"), FORMATS)


@every_format
def test_java_reads_what_kwire_wrote(either_oracle: Oracle, magic: int, codec: str) -> None:
    for seed, count in enumerate((1, 2, 60)):
        wrote = random_records(seed, magic, base_offset=500, count=count)
        items = [
            records.Record(w.value, key=w.key, timestamp=None if magic == 0 else w.timestamp, headers=w.headers)
            for w in wrote
        ]
        data = records.encode(items, magic=magic, compression=codec, base_offset=500)
        read = java.read(either_oracle, data)
        assert read.consumed == len(data)
        assert read.records == tuple(wrote)
        assert {batch.compression for batch in read.batches} == {codec}


def test_java_reads_the_producer_fields_that_kwire_wrote(oracle: Oracle) -> None:
    data = records.encode(
        [b"one", b"two"],
        base_offset=3,
        producer_id=2**33,
        producer_epoch=4,
        base_sequence=5,
        is_transactional=True,
        partition_leader_epoch=6,
    )
    (batch,) = java.read(oracle, data).batches
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (2**33, 4, 5)
    assert (batch.is_transactional, batch.is_control, batch.partition_leader_epoch) == (True, False, 6)
    assert [record.value for record in batch.records] == [b"one", b"two"]
