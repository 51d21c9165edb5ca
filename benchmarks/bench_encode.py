"""Writing 10,000 records of 100 bytes (10-byte key, 90-byte value) as one batch, beside aiokafka and kafka-python.

Only ratios within one run travel from machine to machine. One call of each benchmark writes the whole batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AiokafkaOldBuilder
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder as KafkaPythonOldBuilder

from kwire import records
from kwire._codec import Accumulator, ProducerBase

pa = pytest.importorskip("pyarrow")

COUNT = 10_000
LARGE = 1 << 30
DICE = random.Random(2024)
ITEMS = [(DICE.randbytes(45).hex().encode(), b"%010d" % i, 1_700_000_000_000 + i, ()) for i in range(COUNT)]
VALUES = [item[0] for item in ITEMS]
COLUMNS = pa.RecordBatch.from_pydict(
    {
        "value": pa.array(VALUES, pa.binary()),
        "key": pa.array([item[1] for item in ITEMS], pa.binary()),
        "timestamp": pa.array([item[2] for item in ITEMS], pa.int64()),
    }
)
CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def by_append(magic: int = 2) -> bytes:
    builder = records.BatchBuilder(magic=magic)
    append = builder.append
    for value, key, timestamp, _ in ITEMS:
        append(value, key, timestamp)
    return builder.build()


def foreign(kind: Any, codec: int = 0) -> bytes:
    """One batch by a peer's builder, as its producer fills it."""
    builder = kind(2, codec, 0, -1, -1, -1, LARGE)
    append = builder.append
    for i, (value, key, timestamp, _) in enumerate(ITEMS):
        append(i, timestamp, key, value, [])
    return bytes(builder.build())


def foreign_old(kind: Any) -> bytes:
    builder = kind(1, 0, LARGE)
    append = builder.append
    for i, (value, key, timestamp, _) in enumerate(ITEMS):
        append(i, timestamp, key, value)
    return bytes(builder.build())


def by_send() -> int:
    """The send path up to the batch, to 32 known partitions; nothing leaves."""
    path = ProducerBase()
    path.accumulator = accumulator = Accumulator(batch_size=131_072, linger=1000.0, buffer_memory=LARGE)
    path.send("topic", b"")
    accumulator.update_partitions(accumulator.topics["topic"], 32, range(32))
    send = path.send
    for value, key, timestamp, _ in ITEMS:
        send("topic", value, key=key, timestamp=timestamp)
    return len(accumulator.pending)


WORK: dict[str, Callable[[], Any]] = {
    "kwire: append": by_append,
    "kwire: list of tuples": lambda: records.encode(ITEMS),
    "kwire: list of values": lambda: records.encode(VALUES),
    "kwire: columns": lambda: records.encode_arrow(COLUMNS),
    "kwire: magic 1, append": lambda: by_append(1),
    "kwire: send": by_send,
    "aiokafka: append": lambda: foreign(AiokafkaBuilder),
    "aiokafka: magic 1, append": lambda: foreign_old(AiokafkaOldBuilder),
    "kafka-python: append": lambda: foreign(KafkaPythonBuilder),
    "kafka-python: magic 1, append": lambda: foreign_old(KafkaPythonOldBuilder),
}


@pytest.mark.parametrize("work", WORK)
def test_encode(benchmark: Any, work: str) -> None:
    benchmark.extra_info["records"] = COUNT
    rounds = 3 if "kafka-python" in work else 7
    benchmark.pedantic(WORK[work], rounds=rounds, iterations=1 if "kafka" in work else 10, warmup_rounds=1)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("who", ["kwire", "aiokafka", "kafka-python"])
def test_encode_compressed(benchmark: Any, who: str, codec: str) -> None:
    benchmark.extra_info["records"] = COUNT
    kinds = {"aiokafka": AiokafkaBuilder, "kafka-python": KafkaPythonBuilder}
    if who == "kwire":
        benchmark.pedantic(lambda: records.encode(ITEMS, compression=codec), rounds=5, iterations=2, warmup_rounds=1)
    else:
        benchmark.pedantic(lambda: foreign(kinds[who], CODECS[codec]), rounds=3, iterations=1, warmup_rounds=1)


def test_all_write_the_same() -> None:
    assert by_append() == records.encode(ITEMS) == records.encode_arrow(COLUMNS)
    assert records.decode(foreign(AiokafkaBuilder)).values() == VALUES == records.decode(by_append()).values()
    assert by_append(1) == foreign_old(AiokafkaOldBuilder)
