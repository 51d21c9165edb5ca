"""The memory of Deliveries: each is its own, whatever order they go in, and what many of them took goes back."""

from __future__ import annotations

import resource
from random import Random

import pytest

from kwire._codec import PLAIN_MEMORY, Delivery
from tests.codec.test_accumulator import TOPIC, Path
from tests.codec.test_blocks import STATM, resident_bytes
from tests.guarded import runs_in_a_process

MANY = 400_000
IN_ALL_BYTES = MANY * 40
LITTLE = 3 << 20
"""Less than a region of Deliveries needs, more than what else a few of them do."""


def new_path() -> Path:
    path = Path(batch_size=1 << 20, linger=1e6, buffer_memory=1 << 30)
    path.send(TOPIC, b"")
    path.know(1)
    return path


def sent(path: Path, count: int) -> list[Delivery]:
    """Deliveries of so many records, all written: record 0 has offset 0."""
    send = path.send
    deliveries = [send(TOPIC, b"") for _ in range(count)]
    offset = 0
    for batch in path.drain():
        records = len(batch)
        path.accumulator.complete(batch, offset, -1, None)
        offset += records
    return deliveries


def test_each_delivery_is_its_own_whatever_order_they_go_in() -> None:
    rng, path = Random(4), new_path()
    sent(path, 1)
    kept: dict[int, Delivery] = {}
    for turn in range(6):
        deliveries = sent(path, 60_000)
        kept.update({1_000_000 * turn + number: deliveries[number] for number in rng.sample(range(60_000), 30_000)})
        del deliveries
        for number in rng.sample(sorted(kept), len(kept) // 2):
            del kept[number]
    assert len({id(delivery) for delivery in kept.values()}) == len(kept)
    assert all(delivery.result(timeout=0).offset == number % 1_000_000 for number, delivery in kept.items())


def take_and_let_go() -> None:
    path = new_path()
    sent(path, MANY).clear()
    before = resident_bytes()
    for _ in range(3):
        deliveries = sent(path, MANY)
        with_all = resident_bytes()
        few = deliveries[-1:]
        del deliveries
        with_few = resident_bytes()
        assert with_all - before > IN_ALL_BYTES * 3 // 4, (before, with_all)
        assert with_few - before < IN_ALL_BYTES // 2, (before, with_few)
        few.clear()
        assert resident_bytes() - before < IN_ALL_BYTES // 4, (before, resident_bytes())


def send_until_memory_ends() -> None:
    path = new_path()
    deliveries = sent(path, 1)
    mapped = int(STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + LITTLE, resource.RLIM_INFINITY))
    try:
        while len(deliveries) < MANY:
            deliveries.append(path.send(TOPIC, b""))
    except MemoryError:
        refused = True
    else:
        refused = False
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert refused
    deliveries.append(path.send(TOPIC, b""))
    assert sum(len(batch) for batch in path.drain()) == len(deliveries) - 1


@pytest.mark.shared_memory
@pytest.mark.skipif(PLAIN_MEMORY or not STATM.exists(), reason="Deliveries have no memory of their own, or no /proc")
def test_a_record_for_whose_delivery_no_memory_is_left_is_not_sent() -> None:
    runs_in_a_process(send_until_memory_ends)


@pytest.mark.shared_memory
@pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc")
def test_what_many_deliveries_took_goes_back() -> None:
    runs_in_a_process(take_and_let_go)
