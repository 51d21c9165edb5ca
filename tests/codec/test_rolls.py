"""The rolls of unfinished batches and of a leader's partitions: their order, whoever leaves in between."""

from __future__ import annotations

from random import Random

import pytest

from kwire._codec import Batch, PartitionQueue, Sink
from tests.codec.test_accumulator import TOPIC, Path

PARTITIONS = 90


@pytest.fixture
def path() -> Path:
    """Sends to partitions that are known."""
    path = Path(batch_size=1000)
    path.send(TOPIC, b"")
    path.know(PARTITIONS)
    end_all(path)
    return path


def end_all(path: Path) -> None:
    for batch in path.drain():
        path.accumulator.complete(batch, 0, -1, None)


def queues_with_a_batch(path: Path) -> list[PartitionQueue]:
    for partition in range(PARTITIONS):
        path.send(TOPIC, b"v", partition=partition)
    path.accumulator.make_all_due()
    return path.accumulator.route_ready()


@pytest.mark.parametrize("seed", range(5))
def test_pending_batches_are_in_the_order_of_opening_whichever_end_between(path: Path, seed: int) -> None:
    random = Random(seed)
    expected: list[Batch] = []
    for _ in range(60):
        for _ in range(random.choice([1, 3, 40])):
            path.send(TOPIC, b"v" * 900, partition=random.randrange(PARTITIONS))
            expected += path.accumulator.pending[len(expected) :]
        path.drain()
        for _ in range(random.randrange(len(expected) + 1)):
            batch = expected.pop(random.randrange(len(expected)))
            path.accumulator.complete(batch, 0, -1, None)
            path.accumulator.complete(batch, 1, -1, None)
            assert batch.batch_result.base_offset == 0
        assert path.accumulator.pending == expected
        assert path.accumulator.is_empty == (not expected)
    assert path.accumulator.topics[TOPIC].pending_batches == len(expected)


def test_a_batch_that_never_ends_stays_the_first_of_thousands(path: Path) -> None:
    path.send(TOPIC, b"first", partition=0)
    [first] = path.drain()
    for _ in range(100):
        for partition in range(1, PARTITIONS):
            path.send(TOPIC, b"v", partition=partition)
        end_all(path)
        assert path.accumulator.pending == [first]


@pytest.mark.parametrize("seed", range(5))
def test_partitions_wait_for_their_leader_in_the_order_in_which_they_came(path: Path, seed: int) -> None:
    random = Random(seed)
    sink = Sink(0, 5)
    queues = queues_with_a_batch(path)
    expected: list[PartitionQueue] = []
    for _ in range(300):
        queue = random.choice(queues)
        if queue in expected and random.random() < 0.6:
            expected.remove(queue)
            queue.reenqueue(sink.take(queue, []))
        elif queue not in expected:
            expected.append(queue)
            sink.add(queue)
        else:
            sink.add(queue)
        assert sink.sendable(0.0) == expected
        assert len(sink) == len(expected)
    assert sink.empty() == expected
    assert not sink.sendable(0.0)


def test_partitions_without_a_batch_leave_the_roll_of_their_leader(path: Path) -> None:
    sink = Sink(0, 5)
    queues = queues_with_a_batch(path)
    for queue in queues:
        sink.add(queue)
    for queue in queues[::2]:
        batch = queue.head
        assert batch is not None
        path.accumulator.complete(batch, 0, -1, None)
    assert sink.sendable(0.0) == queues[1::2]
    assert len(sink) == len(queues[1::2])


def test_a_partition_that_gets_another_leader_leaves_the_first(path: Path) -> None:
    one, other = Sink(0, 5), Sink(1, 5)
    queue = queues_with_a_batch(path)[7]
    one.add(queue)
    other.add(queue)
    assert (len(one), len(other)) == (0, 1)
    assert other.take(queue, []).partition == queue.partition
    assert len(other) == 0
