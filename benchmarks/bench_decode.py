"""Reading 10,000 records of 100 bytes (magic 2, plain, checksum verified), beside aiokafka and kafka-python.

Only ratios within one run travel from machine to machine. One call of each benchmark decodes the whole batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from kwire import records

COUNT = 10_000
DICE = random.Random(2024)
ITEMS = [(DICE.randbytes(45).hex().encode(), b"%010d" % i, 1_700_000_000_000 + i, ()) for i in range(COUNT)]
PLAIN = records.encode(ITEMS)
OLD = records.encode(ITEMS, magic=1)
WITH_HEADERS = records.encode([(v, k, t, (("a", b"1"), ("b", b"2"), ("c", b"3"))) for v, k, t, _ in ITEMS])
FOUR = ["offset", "timestamp", "key", "value"]


def foreign(kind: Any, wire: bytes) -> list[Any]:
    """The records of a batch as the peer's consumer goes through them, the checksum verified."""
    made = []
    log = kind(wire)
    batch = log.next_batch()
    while batch is not None:
        assert batch.validate_crc()
        made += batch
        batch = log.next_batch()
    return made


def read_four_fields(made: Any) -> None:
    for r in made:
        _ = r.offset, r.timestamp, r.key, r.value


KWIRE: dict[str, Callable[[], Any]] = {
    "index": lambda: records.decode(PLAIN),
    "columns": lambda: records.decode(PLAIN).to_arrow(FOUR),
    "columns, all": lambda: records.decode(PLAIN).to_arrow(),
    "columns, views": lambda: records.decode(PLAIN).to_arrow(FOUR, binary_view=True),
    "records": lambda: list(records.decode(PLAIN)),
    "values": lambda: records.decode(PLAIN).values(),
    "four fields": lambda: read_four_fields(records.decode(PLAIN)),
    "headers not read": lambda: list(records.decode(WITH_HEADERS)),
    "magic 1, records": lambda: list(records.decode(OLD)),
}
PEERS: dict[str, Callable[[], Any]] = {
    f"{name}: {work}": make
    for name, kind in (("aiokafka", AiokafkaRecords), ("kafka-python", KafkaPythonRecords))
    for work, make in (
        ("records", lambda kind=kind: foreign(kind, PLAIN)),
        ("values", lambda kind=kind: [r.value for r in foreign(kind, PLAIN)]),
        ("four fields", lambda kind=kind: read_four_fields(foreign(kind, PLAIN))),
        ("headers not read", lambda kind=kind: foreign(kind, WITH_HEADERS)),
        ("magic 1, records", lambda kind=kind: foreign(kind, OLD)),
    )
}
WORK = {f"kwire: {work}": make for work, make in KWIRE.items()} | PEERS


@pytest.mark.parametrize("work", WORK)
def test_decode(benchmark: Any, work: str) -> None:
    benchmark.extra_info["records"] = COUNT
    rounds = 3 if "kafka-python" in work else 7
    benchmark.pedantic(WORK[work], rounds=rounds, iterations=1 if "kafka" in work else 10, warmup_rounds=1)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("who", ["kwire", "aiokafka", "kafka-python"])
def test_decode_compressed_values(benchmark: Any, who: str, codec: str) -> None:
    wire = records.encode(ITEMS, compression=codec)
    kinds = {"aiokafka": AiokafkaRecords, "kafka-python": KafkaPythonRecords}
    if who == "kwire":
        benchmark.pedantic(lambda: records.decode(wire).values(), rounds=7, iterations=10, warmup_rounds=1)
    else:
        benchmark.pedantic(lambda: [r.value for r in foreign(kinds[who], wire)], rounds=3, warmup_rounds=1)
