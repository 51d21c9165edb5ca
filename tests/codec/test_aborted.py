"""Records of aborted transactions are left out, against a plain model, and however many of them a broker names."""

from __future__ import annotations

import random
import struct

from kwire._codec import scan_records
from tests.guarded import runs_in_a_process
from tests.reference.records import BatchFields, PlainRecord, encode_batch

TRANSACTIONAL = 0x10
CONTROL = 0x30
ABORT, COMMIT = 0, 1
MANY = 200_000


def batch(offset: int, producer_id: int, attributes: int, key: bytes | None = None) -> bytes:
    fields = BatchFields(attributes=attributes, producer_id=producer_id)
    return encode_batch([PlainRecord(offset, 1, key, b"v")], fields)


def marker(offset: int, producer_id: int, kind: int) -> bytes:
    return batch(offset, producer_id, CONTROL, struct.pack(">hh", 0, kind))


def test_random_logs_are_read_as_the_model_says() -> None:
    rng = random.Random(20)
    for _ in range(500):
        log, aborted = drawn_log(rng)
        wire = b"".join(
            batch(offset, producer, TRANSACTIONAL) if kind is None else marker(offset, producer, kind)
            for offset, producer, kind in log
        )
        read, fault = scan_records(wire, skip_control=True, aborted=aborted)
        assert fault is None
        assert [record.offset for record in read] == kept(log, aborted), (log, aborted)


Log = list[tuple[int, int, int | None]]
Aborted = list[tuple[int, int]]


def drawn_log(rng: random.Random) -> tuple[Log, Aborted]:
    offsets = range(rng.randrange(30))
    log = [(offset, rng.randrange(3), rng.choice([None, None, ABORT, COMMIT])) for offset in offsets]
    aborted = [(rng.randrange(4), rng.randrange(-1, 31)) for _ in range(rng.randrange(8))]
    return log, aborted


def kept(log: Log, aborted: Aborted) -> list[int]:
    """Each entry is in force from its first offset to the next abort marker of its producer."""
    offsets, waiting = [], list(aborted)
    for offset, producer, kind in log:
        begun = [entry for entry in waiting if entry[0] == producer and entry[1] <= offset]
        if kind is None and not begun:
            offsets.append(offset)
        elif kind == ABORT:
            waiting = [entry for entry in waiting if entry not in begun]
    return offsets


def read_many() -> None:
    aborted = [(2 * number, number) for number in range(MANY)]
    wire = batch(MANY, 1, TRANSACTIONAL) * MANY
    read, fault = scan_records(wire, check_crc=False, aborted=aborted)
    assert fault is None
    assert len(read) == MANY


def test_the_work_does_not_grow_with_batches_times_transactions() -> None:
    runs_in_a_process(read_many, cpu_seconds=8)
