"""Rows of a record batch that are appended many at once come to the same batches as records sent one by one."""

from __future__ import annotations

import ctypes
import random
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from kwire import errors
from kwire._codec import Batch, SentRows
from tests.codec.test_accumulator import TOPIC, Path

Row = tuple[bytes | None, bytes | None, int | None, list[tuple[str, bytes | None]], int]
"""value, key, timestamp, headers, partition (-1: to be chosen)"""

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_NOW_MS = 1_700_000_000_000


def known(count: int = 4, **options: Any) -> Path:
    path = Path(**{"batch_size": 500, "seed": 7, **options})
    path.send(TOPIC, b"first", partition=0)
    path.know(count)
    return path


def send_at_once(path: Path, rows: Sequence[Row]) -> SentRows:
    columns = pa.record_batch(
        {
            "value": pa.array([row[0] for row in rows], pa.binary()),
            "key": pa.array([row[1] for row in rows], pa.binary()),
            "timestamp": pa.array([row[2] for row in rows], pa.int64()),
            "headers": pa.array([row[3] for row in rows], _HEADERS),
        }
    )
    sent = SentRows(path.accumulator)
    sent.send([TOPIC], columns, None, struct.pack(f"={len(rows)}i", *(row[4] for row in rows)))
    return sent


def send_one_by_one(path: Path, rows: Sequence[Row]) -> None:
    for value, key, timestamp, headers, partition in rows:
        named = None if partition < 0 else partition
        path.send(TOPIC, value, key=key, timestamp=timestamp, headers=headers, partition=named)


def drained(path: Path) -> list[tuple[int, bytes]]:
    """The partition and the bytes of each batch, sorted by partition."""
    found = [(batch.partition, bytes(batch.seal(2, 0, None))) for batch in path.drain()]
    return sorted(found, key=lambda each: each[0])


def of_all_kinds(rng: random.Random, count: int) -> list[Row]:
    return [
        (
            rng.choice([None, b"", rng.randbytes(rng.randrange(300))]),
            rng.choice([None, None, b"", rng.randbytes(rng.randrange(20))]),
            rng.choice([None, None, _NOW_MS + rng.randrange(-5000, 5000)]),
            rng.choice([[], [], [("h", None), ("i", b"1")]]),
            rng.choice([-1, -1, 0, 3]),
        )
        for _ in range(count)
    ]


PARTITIONERS = ["default", "uniform_sticky", "round_robin", "random", "consistent_random", "murmur2", "fnv1a_random"]


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("seed", range(3))
def test_many_rows_at_once_come_to_the_batches_of_records_sent_one_by_one(partitioner: str, seed: int) -> None:
    rows = of_all_kinds(random.Random(seed), 400)
    at_once, one_by_one = known(partitioner=partitioner), known(partitioner=partitioner)
    sent = send_at_once(at_once, rows)
    send_one_by_one(one_by_one, rows)
    assert len(sent) == len(rows)
    assert at_once.accumulator.used == one_by_one.accumulator.used > 0
    assert at_once.accumulator.records_sent == one_by_one.accumulator.records_sent == len(rows) + 1
    assert drained(at_once) == drained(one_by_one)


def test_a_callable_partitioner_is_asked_for_each_row() -> None:
    asked: list[bytes | None] = []

    def partitioner(key: bytes | None, _all: object, _available: object) -> int:
        asked.append(key)
        return len(asked) % 4

    path = known(partitioner=partitioner)
    send_at_once(path, [(b"v", b"%d" % number, None, [], -1) for number in range(50)])
    assert asked == [b"%d" % number for number in range(50)]


def complete(path: Path, batch: Batch, offset: int) -> None:
    path.accumulator.complete(batch, offset, -1, None)


def test_each_row_is_where_it_is_said_to_be() -> None:
    path = known()
    rows: list[Row] = [(b"%d" % number, None, None, [], number % 4) for number in range(400)]
    sent = send_at_once(path, rows)
    failing = path.drain()[5]
    lost = [int(value or b"0") for value in read_values(failing)]
    path.accumulator.complete(failing, -1, -1, errors.KafkaError("as asked"))
    failed, first = sent.failed()
    assert failed == lost
    assert first is not None
    assert first[:2] == (TOPIC, failing.partition)


def read_values(batch: Batch) -> list[bytes | None]:
    from kwire import records

    return records.decode(batch.seal(2, 0, None)).values()


def dirty_freed_memory(size: int) -> None:
    """The next piece of that size that C asks for is likely full of ones."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    pieces = [ctypes.c_void_p(libc.malloc(ctypes.c_size_t(size))) for _ in range(5)]
    for piece in pieces:
        ctypes.memset(piece, 0xFF, size)
    for piece in pieces:
        libc.free(piece)


def test_batches_that_had_no_room_for_a_row_hold_none() -> None:
    path = known(40)
    for partition in range(40):
        path.send(TOPIC, b"v" * 400, partition=partition)
    sent = send_at_once(path, [(b"v" * 100, None, None, [], partition) for partition in range(40)])
    for number, batch in enumerate(path.drain()):
        complete(path, batch, 100 * number)
    dirty_freed_memory(80 * 8)
    assert len(sent.next_offsets()) == 40
    assert sent.failed() == ([], None)


def test_memory_is_given_back_to_the_byte() -> None:
    path = known()
    send_at_once(path, of_all_kinds(random.Random(5), 300))
    for batch in path.drain():
        complete(path, batch, 0)
    assert path.accumulator.used == 0
    assert path.accumulator.is_empty


def test_buffer_memory_bounds_what_many_rows_take() -> None:
    path = known(buffer_memory=4000, batch_size=100_000)
    waits = []

    def make_room(size: int, since: float) -> None:
        waits.append(path.accumulator.used)
        for batch in path.drain():
            complete(path, batch, 0)

    path.accumulator.wait_for_room = make_room
    sent = send_at_once(path, [(b"v" * 100, None, None, [], -1) for _ in range(200)])
    assert len(sent) == 200
    assert len(waits) >= 5
    assert all(3800 < used <= 4000 for used in waits)


def test_records_whose_headers_or_timestamps_an_old_broker_refuses_are_known() -> None:
    rows: list[Row] = [(b"v", None, None, [], 0) for _ in range(20)]
    rows[7] = (b"v", None, None, [("h", b"1")], 0)
    rows[11] = (b"v", None, 5000, [], 0)
    for take_out, row in (("without_headers", 7), ("without_timestamps", 11)):
        path = known(batch_size=10_000)
        sent = send_at_once(path, rows)
        (batch,) = path.drain()
        getattr(path.accumulator, take_out)(batch, errors.KafkaError("an old broker"))
        assert sent.failed()[0] == [row]


def test_rows_of_partitions_named_stay_there_when_the_partition_is_gone() -> None:
    path = known(batch_size=10_000)
    send_at_once(path, [(b"named", None, None, [], 3), (b"named", None, None, [], 3)])
    path.accumulator.update_partitions(path.accumulator.topics[TOPIC], 2, range(2), anew=True)
    assert path.accumulator.topics[TOPIC].has_unassigned


def test_a_row_of_damaged_offsets_is_named_and_those_before_it_are_on_their_way() -> None:
    path = known()
    offsets = struct.pack("=5i", 0, 1, 2, 9, 3)
    value = pa.Array.from_buffers(pa.binary(), 4, [None, pa.py_buffer(offsets), pa.py_buffer(b"abc")])
    sent = SentRows(path.accumulator)
    with pytest.raises(errors.CodecError):
        sent.send([TOPIC], pa.record_batch({"value": value}))
    assert len(sent) == 2


def test_the_linger_of_the_oldest_batch_ends_while_rows_are_appended() -> None:
    path = known(batch_size=100_000)
    calls: list[int] = []
    path.accumulator.on_attention = lambda: calls.append(len(path.accumulator.pending))
    path.accumulator.route_ready()
    path.accumulator.set_clock(100.004, _NOW_MS)
    send_at_once(path, [(b"v", None, None, [], 1)] * 3)
    before = len(calls)
    path.accumulator.set_clock(100.02, _NOW_MS)
    send_at_once(path, [(b"v", None, None, [], 1)] * 3)
    assert len(calls) == before + 1
