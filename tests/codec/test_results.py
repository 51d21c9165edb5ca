"""What a flush waits for: the results of all batches that were pending."""

from __future__ import annotations

from kwire._codec import Results
from tests.codec.test_accumulator import TOPIC, Path

PARTITIONS = 50


def test_results_are_complete_once_the_last_of_them_is_whichever_comes_last() -> None:
    path = Path()
    path.send(TOPIC, b"")
    path.know(PARTITIONS)
    for last in (0, 20, PARTITIONS - 1):
        for partition in range(PARTITIONS):
            path.send(TOPIC, b"v", partition=partition)
        batches = path.drain()
        results = Results(batches)
        for number, batch in enumerate(batches):
            if number != last:
                path.accumulator.complete(batch, 0, -1, None)
                assert not results.all_complete()
        assert (results.count, results.incomplete()) == (len(batches), 1)
        path.accumulator.complete(batches[last], 0, -1, None)
        assert results.all_complete()
        assert results.incomplete() == 0


def test_a_batch_whose_records_went_on_in_smaller_ones_is_complete_once_these_are() -> None:
    path = Path()
    path.send(TOPIC, b"")
    path.know(1)
    path.drain()
    path.send(TOPIC, b"1")
    path.send(TOPIC, b"2")
    [whole] = path.drain()
    results = Results([whole])
    assert path.accumulator.split(whole)
    halves = path.drain()
    path.accumulator.complete(halves[0], 0, -1, None)
    assert (results.all_complete(), results.incomplete()) == (False, 1)
    path.accumulator.complete(halves[1], 1, -1, None)
    assert results.all_complete()
