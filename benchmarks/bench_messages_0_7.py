"""Message sets of Kafka 0.7, 10,000 payloads of 100 bytes: kwire, and plain Python written from the same page.

The clients of that age need Python 2.7 and cannot run in the same process. One call handles the whole set.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from kwire import records

COUNT = 10_000
DICE = random.Random(7)
VALUES = [DICE.randbytes(100) for _ in range(COUNT)]
PLAIN = records.encode(VALUES, generation="0.7")
PACKED = {codec: records.encode(VALUES, generation="0.7", compression=codec) for codec in ("gzip", "snappy")}


def by_hand(data: bytes) -> list[tuple[int, bytes]]:
    """(offset, payload) of plain messages of magic 1, checksums verified."""
    made, at, end = [], 0, len(data)
    while at < end:
        size, _, _, stored = struct.unpack_from(">ibbI", data, at)
        payload = data[at + 10 : at + 4 + size]
        assert zlib.crc32(payload) == stored
        made.append((at, payload))
        at += 4 + size
    return made


def encode_by_hand() -> bytes:
    return b"".join(struct.pack(">ibbI", len(value) + 6, 1, 0, zlib.crc32(value)) + value for value in VALUES)


def decode(data: bytes) -> records.Records:
    return records.decode(data, generation="0.7")


CASES: dict[str, Callable[[], Any]] = {
    "kwire: index": lambda: decode(PLAIN),
    "kwire: values": lambda: decode(PLAIN).values(),
    "kwire: records": lambda: list(decode(PLAIN)),
    "kwire: columns": lambda: decode(PLAIN).to_arrow(["offset", "value"]),
    "kwire: gzip values": lambda: decode(PACKED["gzip"]).values(),
    "kwire: snappy values": lambda: decode(PACKED["snappy"]).values(),
    "kwire: encode": lambda: records.encode(VALUES, generation="0.7"),
    "plain Python: records": lambda: by_hand(PLAIN),
    "plain Python: encode": encode_by_hand,
}


@pytest.mark.parametrize("case", CASES)
def test_messages_0_7(benchmark: Any, case: str) -> None:
    benchmark.extra_info["records"] = COUNT
    benchmark.pedantic(CASES[case], rounds=7, iterations=1 if "Python" in case else 10, warmup_rounds=1)
